"""Polynomials by their coefficients and between knots; norms and solves of the rarer spellings."""

from corpus.registry import complexes, integers, real, values

from .registry import call

at, x = values(-0.4, 0.9, 2.6), values(0.0, 0.7, 1.1, 2.2)
# fmt: off
CALLS = [
    call("scipy.interpolate.CubicSpline(x, y)(t)", x=x, y=real(4), t=at),
    call("scipy.interpolate.CubicSpline(x, y)(t, 1)", x=values(0.0, 0.7, 1.1), y=complexes(3), t=at),
    call("s = scipy.interpolate.CubicSpline(x, y, bc_type=('natural', (1, d)))\n"
         "y = s.derivative()(t) + s.antiderivative()(t) * s.integrate(0.1, t[1])", x=x, y=real(4), t=at, d=0.3),
    call("scipy.interpolate.CubicSpline(x, y, axis=1, bc_type='clamped', extrapolate='periodic')(t)",
         x=values(0.0, 0.8), y=real(2, 2), t=at),
    call("scipy.interpolate.PchipInterpolator(x, y)(t)", x=x, y=values(0.1, 0.5, 2.0, 1.0), t=at),
    call("scipy.interpolate.CubicHermiteSpline(x, y, y[::-1])(t[1])", x=x, y=real(4), t=at),
    call("scipy.interpolate.interp1d(x, y, fill_value='extrapolate')(t)", x=x, y=real(2, 4), t=at),
    call("scipy.interpolate.interp1d(x[k], y, 'cubic', bounds_error=False, fill_value=(y[0], 0.5))(t)",
         x=x, k=integers(2, 0, 3, 1), y=real(4), t=at),
    call("s = scipy.interpolate.make_interp_spline(x, y, bc_type='natural', axis=1)\n"
         "y = s(t, 1) * s.derivative(2)(t)", x=x, y=real(2, 4), t=at, loose=30),
    call("s = scipy.interpolate.make_interp_spline(x, y, bc_type=([(1, d)], [(2, 0.5)]))\n"
         "y = s(t, extrapolate='periodic') + s.integrate(d, t[0], False)", x=x, y=real(4), d=0.4, t=at, loose=10),
    call("scipy.interpolate.BSpline([0, 0, 0, 0.5, 1.1, 1.9, 1.9, 1.9], c, 2, False)(t)", c=real(5),
         t=values(0.4, 1.2)),
    call("tck = scipy.interpolate.splrep(x, y)\ny = scipy.interpolate.splev(t, tck, 1, ext=1)"
         " * scipy.interpolate.splint(0.2, t[0], tck) + scipy.interpolate.splev(t, tck, ext=3)",
         x=x, y=real(4), t=at, loose=10),
    call("s = scipy.interpolate.InterpolatedUnivariateSpline(x, y, k=2)\n"
         "y = s(t) + s.derivative()(t) + s.integral(0.1, 1)",
         x=x, y=real(4), t=values(-0.4, 0.8, 2.6), loose=10),
    call("scipy.interpolate.interp1d(x, y, 'nearest')(t) + scipy.interpolate.interp1d(x, y, kind='next')(t)",
         x=x, y=real(4), t=values(0.2, 1.0)),
    call("scipy.interpolate.RegularGridInterpolator((x, [0, 1, 3]), y, bounds_error=False, fill_value=0.5)(t)",
         x=x, y=real(4, 3), t=real(4, 2, low=-0.2, high=2.4)),
    call("np.poly1d(x)(t) + np.poly1d(x).deriv(2)(t) * np.poly1d(t, True).integ()(x[1])", x=x, t=at),
    call("np.polynomial.Polynomial(x)(t) + np.polynomial.Polynomial(t).deriv()(x[1])", x=x, t=at),
    call("p, q = np.poly1d(x), np.poly1d([1.0, y[0]])\n"
         "y = (p + q)(t) * (2 - p)(t[0]) + (p * q - q * x[1])(t) / (1.0 + (-q / 2.0)(t) ** 2) + (q**3)(t)",
         x=x, y=real(2), t=at),
    call("p = np.poly1d(x)\ny = p.integ(2, k=[1.0, x[2]])(t) + p.order * p[1] * p[5] - p[3]",
         x=values(0.3, 1.1, 0.5), t=at),
    call("p, q = np.poly1d(x), np.poly1d(y)\nr = p(q)\n"
         "y = r(t) + q(r).deriv()(t[0]) * r.coeffs[1] + p(p.integ()).order",
         x=real(3), y=real(2), t=at),
    call("p = np.poly1d(x) - np.poly1d([x[0], 1.0, y])\ny = p.coeffs * sum(v for v in p) * len(p)", x=real(3), y=0.4),
    call("p, q = np.polynomial.Polynomial(x), np.polynomial.Polynomial([1.0, y[0]])\n"
         "y = (p + q)(t) * (2 - p)(t[0]) + (p * q - y[1] * q)(t) / (1.0 + (-q / 2.0)(t) ** 2) + (q**3)(t) * p.degree()",
         x=x, y=real(2), t=at),
    call("p = np.polynomial.Polynomial(x, domain=[0, 4.0])\n"
         "y = p.integ(2, k=[1.0], lbnd=y)(t) * p.deriv()(t) + (p * p)(t)", x=x, y=0.3, t=at),
    call("p = np.polynomial.Polynomial(x) - np.polynomial.Polynomial([y, 1.0, x[2]])\n"
         "y = p.coef * (p.integ()(y) + len(p))", x=real(3), y=0.4),
    call("np.poly(x)", x=real(4), compiled=True),
    call("np.polyadd(x, y) * np.polysub(y, x)", x=real(3), y=real(5)),
    call("np.polymul(x, y)", x=real(3), y=real(4)),
    call("np.polyfit(x, y, 2)", x=real(7), y=real(7)),
    call("np.polyfit(x, y, 1, w=w)", x=real(6), y=real(6), w=real(6, low=0.5, high=1.5)),
    call("np.polyval(np.polyfit(x, y, 2), x)", x=real(7), y=real(7)),
    call("np.linalg.vector_norm(x, ord=3)", x=real(2, 3)),
    call("np.linalg.vector_norm(x, axis=1, keepdims=True) * x", x=real(2, 3)),
    call("np.linalg.vector_norm(x, keepdims=True) * x", x=real(2, 3)),
    call("np.linalg.vector_norm(x, axis=(0, 1))", x=real(2, 3, 4)),
    call("np.linalg.vector_norm(x, axis=(2, 0), ord=1, keepdims=True)", x=real(2, 3, 4)),
    call("np.linalg.vector_norm(x, axis=(0, 1, 2), ord=np.inf)", x=real(2, 3, 4)),
    call("np.linalg.vector_norm(x, axis=1, ord=0) * y", x=real(2, 3), y=real(2)),
    call("np.linalg.matrix_norm(x)", x=real(2, 3, 4)),
    call("np.linalg.matrix_norm(x, ord=1, keepdims=True)", x=real(3, 4)),
    call("np.linalg.tensorsolve(x + 3.0 * np.eye(6).reshape(2, 3, 6), y)", x=real(2, 3, 6), y=real(2, 3)),
    call("np.linalg.tensorinv(x + 3.0 * np.eye(6).reshape(6, 2, 3), ind=1)", x=real(6, 2, 3)),
    call("np.polynomial.polynomial.polyval(x, c)", x=real(3), c=real(4), compiled=True),
    call("np.polynomial.chebyshev.chebval(x, c)", x=0.3, c=real(5)),
    call("np.polynomial.chebyshev.chebval(x, c)", x=real(3, 2), c=real(1)),
    call("np.polynomial.legendre.legval(x, c)", x=real(3), c=real(4, 2)),
    call("np.polynomial.legendre.legval(x, c, tensor=False)", x=real(3), c=real(4, 3)),
    call("np.polynomial.hermite.hermval(x, c)", x=real(2, 2), c=real(4)),
    call("np.polynomial.hermite_e.hermeval(x, [1, 2, 3])", x=real(2, 2)),
    call("np.polynomial.laguerre.lagval(x, c)", x=real(3), c=real(4)),
    call("np.polynomial.polynomial.polyvander(x, 3)", x=real(4)),
    call("np.polynomial.chebyshev.chebvander(x, 4)", x=real(3)),
    call("np.polynomial.legendre.legvander(x, 4)", x=0.4),
    call("np.polynomial.hermite.hermvander(x, 0)", x=real(3)),
    call("np.polynomial.hermite_e.hermevander(x, 3)", x=real(2, 2)),
    call("np.polynomial.laguerre.lagvander(x, 3)", x=real(3)),
    call("x.view() * x.copy().view()", x=real(3)),
    call("np.unwrap(x * 20.0)", x=real(7), compiled=True),
    call("np.unwrap(x * 9.0, axis=0, period=3.0) * x", x=real(4, 3)),
    call("np.unwrap(x * 9.0, 4.0)", x=real(2, 5)),
]
# fmt: on
