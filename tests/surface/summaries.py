"""What scipy.stats says of samples."""

from corpus.registry import positive, real

from .registry import call

x, xx = positive(5), positive(3, 4)
# fmt: off
CALLS = [
    call("scipy.stats.gmean(x, axis=1) + scipy.stats.hmean(x, axis=1, weights=[0.1, 0.2, 0.3, 0.4])", x=xx),
    call("scipy.stats.zscore(x, axis=1, ddof=1) + scipy.stats.zmap(x, y)", x=xx, y=real(3, 4), compiled=True),
    call("scipy.stats.sem(x, None) + scipy.stats.variation(x) + scipy.stats.moment(x, 3)", x=xx),
    call("scipy.stats.skew(x) + scipy.stats.kurtosis(x, bias=False) + scipy.stats.skew(x, axis=0, bias=False)", x=x,
         loose=10),
    call("scipy.stats.entropy(x, x[::-1]) + scipy.stats.entropy(x, base=2, axis=0) + scipy.stats.iqr(x)", x=x),
    call("r, p = scipy.stats.pearsonr(x, y)\ny = r * p + scipy.stats.pearsonr(x, y).statistic", x=x, y=real(5),
         loose=10),
    call("line = scipy.stats.linregress(x, y)\n"
         "y = line.slope + line.intercept * line.rvalue + line.pvalue * line.stderr + line[0]", x=x, y=real(5),
         loose=10),
]
# fmt: on
