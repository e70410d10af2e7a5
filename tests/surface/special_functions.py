"""scipy.special, and the small functions of math and NumPy."""

import numpy as np
from corpus.registry import integers, number, positive, real, values

from .registry import call

# fmt: off
REAL = ("erf", "erfc", "erfcx", "dawsn", "ndtr", "log_ndtr", "expit", "log_expit", "exprel", "i0", "i1", "i0e", "i1e",
        "j0", "j1", "expm1", "exp2", "cosm1", "exp10")
POSITIVE = ("gamma", "gammaln", "loggamma", "rgamma", "digamma", "psi", "entr", "y0", "y1", "k0", "k1", "k0e", "k1e",
            "exp1", "expi", "spence", "cbrt", "log1p", "factorial")
PROBABILITY = ("erfinv", "erfcinv", "ndtri", "logit", "ellipk", "ellipe")
OF_ORDER = ("jv", "jn", "yv", "iv", "kv", "ive", "kve", "gammainc", "gammaincc")
PAIRS = ("beta", "betaln", "poch", "xlogy", "xlog1py", "rel_entr", "kl_div", "boxcox", "boxcox1p", "inv_boxcox",
         "inv_boxcox1p", "huber", "pseudo_huber", "binom")

CALLS = [
    *(call(f"scipy.special.{name}(x)", x=real(4, low=-0.9, high=0.9), loose=3) for name in REAL),
    *(call(f"scipy.special.{name}(x)", x=positive(4), loose=3) for name in POSITIVE),
    *(call(f"scipy.special.{name}(x)", x=real(4, low=0.1, high=0.8), loose=3) for name in PROBABILITY),
    *(call(f"scipy.special.{name}(1.5, x)", x=positive(2, 2), loose=3) for name in OF_ORDER),
    *(call(f"scipy.special.{name}(x, y)", x=positive(3, 1), y=positive(2), loose=3) for name in PAIRS),
    call("scipy.special.erfcx(x) + scipy.special.jv(2, x) + scipy.special.i0(x) + scipy.special.xlogy(2.0, x)",
         x=positive(3), loose=3, compiled=True),
    call("scipy.special.kn(2, x) + scipy.special.yn(1, x) + scipy.special.expn(3, x)", x=positive(3), loose=3),
    call("scipy.special.betainc(1.5, 2.5, x) + scipy.special.expit(x)", x=real(3, low=0.1, high=0.9), loose=3,
         compiled=True),
    call("scipy.special.betaincinv(1.5, 2.5, x) + scipy.special.gammaincinv(1.5, x) * scipy.special.gammainccinv(2, x)",
         x=real(3, low=0.1, high=0.9), loose=10),
    call("scipy.special.erfi(x) + scipy.special.sindg(x) * scipy.special.cosdg(x)", x=real(3), loose=3),
    call("scipy.special.owens_t(x, y) + scipy.special.stdtr(3.0, x) * scipy.special.fdtr(2.0, 3.0, x)",
         x=real(3, low=0.2), y=real(3), loose=3),
    call("scipy.special.hyp1f1(0.5, 1.5, x) + scipy.special.hyp2f1(0.5, 1.0, 1.5, x) + scipy.special.hyp0f1(0.5, x)",
         x=real(3, low=-0.9, high=0.5), loose=3, compiled=True),
    *(call(f"scipy.special.eval_{name}(3, x) * scipy.special.eval_{name}(0, x)", x=real(3), loose=3)
      for name in ("legendre", "chebyt", "hermite", "hermitenorm", "laguerre")),
    call("sum([scipy.special.eval_legendre(n, x) * scipy.special.eval_hermite(n, x) for n in range(4)])", x=real(3),
         loose=3, compiled=True),
    call("scipy.special.ellipkinc(x, 0.3) * scipy.special.ellipeinc(x, 0.3)", x=real(3), loose=3),
    call("math.fsum([x, y, 2.0]) * math.prod((x, y))", x=0.7, y=0.3),
    call("scipy.special.zeta(3.0, x)", x=positive(3)),
    call("scipy.special.polygamma(2, x)", x=positive(3), loose=3),
    call("scipy.special.polygamma(0, x) * x", x=positive(3), loose=3),
    call("scipy.special.multigammaln(x, 3)", x=real(low=2.0, high=3.0), loose=3),
    call("scipy.special.comb(5.0, x) * x", x=positive(3), loose=3),
    call("scipy.special.comb(n, 2) * x", n=integers(3, 5, 1), x=positive(3)),
    call("scipy.special.comb(5, k, exact=True) * x + scipy.special.comb(k, 3, exact=True, repetition=True) * x**2",
         x=real(3), k=2, compiled=True),
    call("scipy.special.comb(-k, 1, exact=True) + x * scipy.special.comb(k, 2 * k, exact=True)", x=real(3), k=2),
    call("(scipy.special.perm(6, n) + scipy.special.perm(6, k, exact=True)) * x", n=integers(3, 5, 1), k=2, x=real(3)),
    call("(scipy.special.factorial(n, exact=True) + scipy.special.factorial(k, exact=True)) * x",
         n=integers(3, 5, 0), k=4, x=real(3)),
    call("(scipy.special.factorial2(n) + scipy.special.factorial2(n, exact=True)) * x", n=integers(-1, 0, 5, 8),
         x=real(4), compiled=True),
    call("scipy.special.gammaln(n) * x", n=integers(3, 5, 1), x=positive(3)),
    call("(scipy.special.cbrt(k) + scipy.special.expm1(k) + scipy.special.log1p(k) + scipy.special.exp2(k)) * x",
         k=np.array([3, 5, 1], np.uint8), x=real(3), compiled=True),
    call("(scipy.special.sindg(k) + scipy.special.cosdg(k) + scipy.special.cbrt(k > 0)) * scipy.special.round(k) * x",
         k=np.array([3, 5, 1], np.uint8), x=real(3)),
    call("np.fabs(n) + np.signbit(k) * x", n=integers(-3, 5), k=np.array([-1, 1], np.int8), x=real(2), compiled=True),
    call("y = np.empty(3)\nscipy.special.expit(x, out=y)", x=real(3)),
    call("scipy.special.xlogy(0.5, x) + scipy.special.erf(2)", x=number(0.7)),
    call("scipy.special.xlogy(x, x)", x=values(0.5, 1.0, 2.0)),

    call("scipy.special.logsumexp(x)", x=real(3, 4)),
    call("scipy.special.logsumexp(x, axis=1)", x=real(3, 4)),
    call("scipy.special.logsumexp(x, axis=(0, 2), keepdims=True) * x", x=real(2, 3, 4)),
    call("scipy.special.logsumexp(x, b=b, axis=0)", x=real(3, 4), b=positive(3, 4)),
    call("scipy.special.logsumexp(x, axis=0, b=b, return_sign=True)[0]", x=real(3, 4), b=values([1.0], [-2.0], [0.0])),
    call("scipy.special.logsumexp(x, axis=1, b=[1.0, 0.0, 2])", x=values([0.3, 900.0, -0.5], [1.0, np.inf, 2.0])),
    call("scipy.special.logsumexp(x, b=2.0) + scipy.special.logsumexp(x, b=[0, 1])", x=values(-np.inf, 0.3)),
    call("scipy.special.roots_legendre(3)[0] * scipy.linalg.hilbert(3) @ x", x=real(3)),
    call("scipy.special.logsumexp([x, y, 1.0])", x=number(0.3), y=number(0.9)),
    call("scipy.special.softmax(x)", x=real(5)),
    call("scipy.special.softmax(x, axis=-1)", x=real(3, 4)),
    call("scipy.special.log_softmax(x, axis=0)", x=real(3, 4)),
    call("scipy.special.log_softmax(x)", x=real(3)),

    call("np.i0(x) * np.sinc(x)", x=real(4)),
    call("np.float_power(x, y)", x=positive(3), y=real(3)),
    call("np.fmod(x, y)", x=real(3, low=1.1, high=1.9), y=real(3, low=0.3, high=0.5)),
    call("np.heaviside(x, y)", x=real(3), y=real(3)),
    call("np.modf(x)[0] + 2.0 * np.modf(x)[1]", x=values(1.25, -2.75, 0.5), compiled=True),
    call("math.modf(x)[0] * 3.0", x=1.75),
    call("m, e = np.frexp(x)\ny = m * e", x=values(1.25, -2.75, 0.3), compiled=True),
    call("m, e = math.frexp(x)\ny = m * e", x=5.0),
    call("q, r = np.divmod(x, y)\ny = q * r", x=values(5.25, -2.75), y=values(2.0, 0.7)),
    call("q, r = divmod(x, 0.75)\ny = q + r", x=2.0),
    call("np.nextafter(x, 3.0) + np.spacing(x)", x=real(3)),
    call("math.nextafter(x, 3.0) * math.hypot(x, 2.0, y)", x=0.7, y=0.3),
    call("math.dist((x, 1.0), (2.0, y))", x=0.7, y=0.3),
    call("np.where(np.isposinf(x) | np.isneginf(x), 0.0, x)", x=values(1.0, float("inf"), -float("inf"))),
    call("np.where(np.isclose(n, 1.000001), 2.0 * x, x)", n=integers(1, 2), x=real(2)),
    call("x * 2.0 if np.allclose(x, y, atol=0.1) else x * y", x=values(0.5, 0.7), y=values(0.52, 0.68)),
    call("x * 2.0 if math.isclose(x, 0.7, rel_tol=0.1) else x * x", x=0.71),
    call("x * 2.0 if np.array_equal(n, [1, 2]) else x * 3.0", n=integers(1, 2), x=real(2)),
    call("x * 2.0 if np.array_equal(x, y) else x * 3.0", x=real(2), y=real(3)),
]
# fmt: on
