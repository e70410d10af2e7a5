"""Densities and distribution functions of scipy.stats."""

from corpus.registry import integers, positive, real, values

from .registry import call

# fmt: off
CALLS = [
    *(call(f"scipy.stats.{name}.logpdf(x, -3.0, s) + scipy.stats.{name}.pdf(x, loc=-2.0, scale=8.0)",
           x=real(4, low=-0.9, high=0.9), s=positive(1), loose=3)
      for name in ("norm", "cauchy", "laplace", "logistic", "expon")),
    call("scipy.stats.uniform.logpdf(x, -3.0, 4.0 + s) + scipy.stats.uniform.pdf(x, scale=0.5) * s",
         x=values(-0.7, 0.2, 0.9), s=positive(3)),
    *(call(f"scipy.stats.norm.{name}(x, m, s)", x=real(4), m=real(4), s=positive(1), loose=3)
      for name in ("cdf", "logcdf", "sf", "logsf")),
    call("scipy.stats.norm.ppf(x, 0.5, s)", x=real(4, low=0.1, high=0.9), s=positive(1), loose=3),
    *(call(text, x=real(4, low=0.1, high=0.9), s=positive(1), loose=10) for text in (
        "scipy.stats.expon.cdf(x, 0.05, s) + scipy.stats.rayleigh.logsf(x, scale=s)"
        " * scipy.stats.halfnorm.ppf(x, 0.2, s)",
        "scipy.stats.weibull_min.logsf(x, s, scale=2.0) * scipy.stats.weibull_min.ppf(x, c=1.4)"
        " + scipy.stats.pareto.cdf(x + 1.0, b=s) + scipy.stats.cauchy.isf(x, 0.1, s)",
        "scipy.stats.gamma.cdf(x, 1.5, 0, s) * scipy.stats.gamma.ppf(x, 2.0) + scipy.stats.beta.sf(x, 2.0, 1.5)"
        " + scipy.stats.t(4.0, scale=s).cdf(x) + scipy.stats.uniform.ppf(x, -1, s)",
        "scipy.stats.lognorm.logcdf(x, s) + scipy.stats.laplace.cdf(x - 0.5, scale=s) * scipy.stats.gumbel_r.isf(x)"
        " + scipy.stats.logistic.logcdf(x, s) + scipy.stats.halfcauchy.sf(x, 0, s)",
        "scipy.stats.lognorm(s).mean() + scipy.stats.beta(s, 2.0).std() + scipy.stats.norm(s, s).median() + x"
        " + scipy.stats.gamma(s, scale=x[0]).var() + scipy.stats.weibull_min.mean(s) + scipy.stats.t(4.5, 0, s).var()",
        "scipy.stats.weibull_min.logpdf(x, s) + scipy.stats.invgamma.logpdf(x, s, scale=2.0)"
        " + scipy.stats.chi2.pdf(x, s) + scipy.stats.pareto.logpdf(x + 1.0, s) + scipy.stats.skewnorm.logpdf(x, s)",
        "scipy.stats.truncnorm.logpdf(x, -1.5, s + 1.0) + scipy.stats.truncnorm.logpdf(x, 0.0, 3.0, scale=s)"
        " + scipy.stats.dirichlet.logpdf(np.array([0.2, 0.3, 0.5]), x[1:] * s)",
    )),
    call("scipy.stats.binom.logpmf(k, 8, p) + scipy.stats.bernoulli(p).pmf(k) + scipy.stats.geom.logpmf(k + 1, p)"
         " + scipy.stats.nbinom.logpmf(k, 2.5, p)", k=integers(0, 1, 4, 7), p=0.3, loose=10),
    call("scipy.stats.norm.logpdf(x) + scipy.stats.norm.pdf(y, x, 2.0)", x=0.7, y=0.3, compiled=True),
    call("scipy.stats.t.logpdf(x, n, 0.5, s) + scipy.stats.t.pdf(x, df=3.5)", x=real(4), n=positive(4), s=positive(1),
         loose=3),
    call("scipy.stats.gamma.logpdf(x, a, scale=s)", x=positive(4), a=positive(4), s=positive(1), loose=3),
    call("scipy.stats.beta.logpdf(x, a, b) + scipy.stats.beta.pdf(x, 2.0, 3.0)", x=real(4, low=0.1, high=0.9),
         a=positive(1), b=positive(4), loose=3),
    call("scipy.stats.lognorm.logpdf(x, s, scale=m) + scipy.stats.lognorm.pdf(x, 0.9)", x=positive(4), s=positive(4),
         m=positive(1), loose=3),
    call("scipy.stats.poisson.logpmf(k, m) + scipy.stats.poisson.pmf(k, 2.0 * m, loc=-1)", k=integers(0, 1, 4, 7),
         m=positive(4), loose=3),
    call("scipy.stats.multivariate_normal.logpdf(x, m, a @ a.T + np.eye(3))", x=real(4, 3), m=real(3), a=real(3, 3),
         loose=10),
    call("scipy.stats.multivariate_normal.pdf(x, cov=a @ a.T + np.eye(3))", x=real(3), a=real(3, 3), loose=10),
    call("scipy.stats.multivariate_normal.logpdf(x, m, s) + scipy.stats.multivariate_normal.logpdf(x, cov=s)",
         x=real(4), m=0.4, s=2.3, loose=3),
    call("scipy.stats.multivariate_normal.logpdf(x, m, d)", x=real(2, 4, 3), m=real(3), d=positive(3), loose=3),
    call("scipy.stats.multivariate_normal.logpdf(x, m, a @ a.T, True)", x=real(4, 3), m=real(3), a=real(3, 3),
         loose=100, compiled=True),
    call("scipy.stats.multivariate_normal.logpdf(a @ x + m, m, a @ a.T, allow_singular=True)", x=real(2), m=real(3),
         a=real(3, 2), loose=100),
    call("scipy.stats.multivariate_normal.pdf(x, m, s * np.eye(3), allow_singular=True)", x=real(4, 3), m=real(3),
         s=positive(1), loose=10),
    *(call(f"scipy.stats.{name}(-3.0, s).logpdf(x) + scipy.stats.{name}(scale=8.0, loc=-2.0).pdf(x)",
           x=real(4, low=-0.9, high=0.9), s=positive(1), loose=3)
      for name in ("norm", "cauchy", "laplace", "logistic", "expon")),
    call("scipy.stats.uniform(-3.0, 4.0 + s).logpdf(x)", x=values(-0.7, 0.2, 0.9), s=positive(3)),
    call("sum(scipy.stats.norm(m, s).cdf(x)) + scipy.stats.norm(m, s).logcdf(x) + scipy.stats.norm(m).sf(x)", x=real(4),
         m=real(4), s=positive(1), loose=3),
    call("scipy.stats.norm(m, s).ppf(scipy.stats.norm(scale=3.0).cdf(x)) + scipy.stats.norm(m).logsf(x)", x=real(4),
         m=real(4), s=positive(1), loose=3),
    call("scipy.stats.gamma(a, scale=s).logpdf(x) + scipy.stats.t(df=a).logpdf(x) + scipy.stats.lognorm(s).pdf(x)",
         x=positive(4), a=positive(4), s=positive(1), loose=3),
    call("scipy.stats.beta(a, b).logpdf(x)", x=real(4, low=0.1, high=0.9), a=positive(1), b=positive(4), loose=3),
    call("scipy.stats.poisson(m).logpmf(k) + scipy.stats.poisson(mu=m, loc=-1).pmf(k)", k=integers(0, 1, 4, 7),
         m=positive(4), loose=3),
    call("(lambda d: d.mean @ d.cov @ d.mean * d.logpdf(x) * d.dim)(scipy.stats.multivariate_normal(m, s))",
         x=real(3), m=real(3), s=1.7, loose=10),
    call("scipy.stats.multivariate_normal(m, a @ a.T + np.eye(3)).logpdf(x)", x=real(4, 3), m=real(3), a=real(3, 3),
         loose=10),
]
