"""scipy.special's functions of waves, and those that give several results."""

import numpy as np
from corpus.registry import complexes, integers, number, positive, real, values

from .registry import call

# fmt: off
CALLS = [
    call("ai, aip, bi, bip = scipy.special.airy(x)\ny = ai * bip - aip * bi**2", x=values(-2.0, 0.0, 0.7), loose=3,
         compiled=True),
    call("scipy.special.airy(x)[2]", x=number(0.7), loose=3),
    call("s, c = scipy.special.fresnel(x)\ny = s * c", x=values(-1.5, 0.0, 0.7), loose=3, compiled=True),
    call("s, c = scipy.special.sici(x)\ny = s * c", x=positive(3), loose=3, compiled=True),
    call("scipy.special.sici(x)[0] + scipy.special.shichi(x)[0]", x=values(-1.5, 0.0, 0.7), loose=3),
    call("s, c = scipy.special.shichi(x)\ny = s * c", x=positive(3), loose=3),
    call("sn, cn, dn, ph = scipy.special.ellipj(x, m)\ny = sn * dn + cn * ph + dn**2", x=real(3, 1),
         m=values(0.01, 0.3, 0.9), loose=3, compiled=True),
    call("scipy.special.ellipj(x, 0.5)[0]", x=positive(3), loose=3),

    *(call(f"scipy.special.{name}(x)", x=positive(3), loose=3)
      for name in ("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")),
    call("scipy.special.ber(x) * scipy.special.bei(x) + scipy.special.beip(x)", x=values(-1.5, 0.0, 0.7), loose=3,
         compiled=True),
    call("scipy.special.struve(0, x) + scipy.special.modstruve(1, x)", x=values(0.0, 0.7, 3.0), loose=3,
         compiled=True),
    call("scipy.special.jve(1.5, x) + scipy.special.yve(0, x)", x=positive(3), loose=3),

    call("scipy.special.hankel1(1, x)", x=positive(3), loose=3, compiled=True),
    call("np.abs(scipy.special.hankel2(0.5, x)) ** 2", x=positive(3), loose=3),
    call("scipy.special.jvp(1, x) + scipy.special.yvp(0.5, x, 2) + scipy.special.jvp(2, x, 0)", x=positive(3), loose=3),
    call("scipy.special.ivp(1, x) * scipy.special.kvp(0.5, x, n=2)", x=positive(3), loose=3, compiled=True),
    call("scipy.special.h1vp(1, x) * scipy.special.h2vp(0, x)", x=positive(3), loose=3),

    call("scipy.special.spherical_jn(2, x) + scipy.special.spherical_jn(0, x, derivative=True)",
         x=values(-1.5, 0.0, 0.7), loose=3, compiled=True),
    call("scipy.special.spherical_in(2, x) + scipy.special.spherical_in(1, x, True)", x=values(-1.5, 0.0, 0.7),
         loose=3),
    call("scipy.special.spherical_yn(n, x) * scipy.special.spherical_yn(n, x, derivative=True)", n=integers(0, 1, 3),
         x=positive(3), loose=3, compiled=True),
    call("scipy.special.spherical_kn(n, x) * scipy.special.spherical_kn(n, x, derivative=True)", n=integers(0, 1, 3),
         x=positive(3), loose=3),
    call("sum([(2 * n + 1) * scipy.special.spherical_jn(n, x) ** 2 for n in range(5)])", x=real(3), loose=3),
    call("scipy.special.lpmv(1, 2, x) + scipy.special.lpmv(0, 3, x) ** 2", x=real(3, low=-0.9, high=0.9), loose=3,
         compiled=True),
    call("scipy.special.lpmv(0, 3, x)", x=values(-1.0, 0.5, 1.0), loose=3),

    call("scipy.special.wofz(z) + scipy.special.wofz(20.0 * z)", z=complexes(4, size=1.5), loose=3, compiled=True),
    call("scipy.special.wofz(x + 1j * y)", x=values(30.0, -25.0, 3.0), y=values(1.0, -0.1, -2.0), loose=3),
    call("np.real(scipy.special.wofz(x + 0.2j)) + np.imag(scipy.special.wofz(x))", x=real(3), loose=3),
    call("scipy.special.voigt_profile(x, s, g)", x=real(3, 1), s=positive(2), g=positive(2), loose=3, compiled=True),
    call("scipy.special.voigt_profile(x, 0.0, 0.5) + scipy.special.voigt_profile(x, 0.5, 0.0)", x=real(3), loose=3),
    call("scipy.special.diric(x, 5) + scipy.special.diric(x, n)", x=values(0.3, -2.0, 7.0), n=4, loose=3),

    *(call(f"scipy.special.{name}(3, x)", x=real(3, low=0.2, high=0.8), loose=3, compiled=name == "eval_sh_legendre")
      for name in ("eval_sh_legendre", "eval_sh_chebyt", "eval_sh_chebyu", "eval_chebyc", "eval_chebys")),
    call("scipy.special.eval_gegenbauer(3, 1.5, x) + scipy.special.eval_gegenbauer(0, 0.5, x)", x=real(3), loose=3),
    call("scipy.special.hyperu(0.5, 1.5, x) + scipy.special.wrightomega(x)", x=positive(3), loose=3, compiled=True),
    call("scipy.special.ellipkm1(x) * scipy.special.ellipk(1 - x)", x=values(0.01, 0.3, 0.9), loose=10),
    call("scipy.special.powm1(x, y) + scipy.special.powm1(y, 2.0)", x=positive(3), y=real(3), loose=3, compiled=True),
    call("scipy.special.ndtri_exp(x)", x=values(-1e3, -2.0, -0.1), loose=3),
    call("scipy.special.stdtrit(3.0, x)", x=values(0.1, 0.5, 0.8), loose=10),
    call("scipy.special.tandg(x)", x=real(3)),
    call("scipy.special.chdtr(3, x) + scipy.special.chdtrc(2.5, x) ** 2 + scipy.special.gdtr(2, 3, x)", x=positive(3),
         loose=3),
    call("scipy.special.chdtri(3, x) + scipy.special.betaincc(1.5, 2, x)", x=values(0.1, 0.5, 0.8), loose=10),
    call("scipy.special.gdtrc(2.0, 3.0, x) + scipy.special.pdtr(2.5, x) * scipy.special.pdtrc(3, x)", x=positive(3),
         loose=3, compiled=True),
    call("scipy.special.bdtr(2, 5, x) + scipy.special.bdtrc(2.0, 5, x) ** 2", x=values(0.1, 0.5, 0.8), loose=3),
    call("scipy.special.nbdtr(2, 5, x) + scipy.special.nbdtrc(2, 5, x) ** 2", x=values(0.1, 0.5, 0.8), loose=3),
    call("scipy.special.fdtrc(2.0, 3.0, x)", x=positive(3), loose=3),
]
if hasattr(__import__("scipy.special").special, "sph_harm_y"):  # SciPy 1.15
    CALLS += [
        call("scipy.special.sph_harm_y(3, 2, x, y) * scipy.special.sph_harm_y(2, -1, x, y)", x=values(0.5, 2.0),
             y=values(0.3, -1.0), loose=3, compiled=True),
        call("np.abs(scipy.special.sph_harm_y(n, m, x, 0.3)) ** 2", n=np.array([[4], [2]]), m=np.array([[-3], [2]]),
             x=values(0.0, 0.5, -1.0, 4.0), loose=3),
    ]
# fmt: on
