"""SciPy's integral of a function: the Gauss-Kronrod rules that SciPy takes, on intervals that are halved as needed.

As near as is asked for.  SciPy extrapolates besides, where halving gets nowhere (singularities at an end).  Which
intervals are halved is decided by numbers through which no derivative goes; the sums over them are differentiated as
they are.  The ends move the integral by what the function is there.

The error of a rule is estimated as in Piessens, de Doncker-Kapenga, Überhuber and Kahaner, QUADPACK (1983), 2.2.1.
"""

from __future__ import annotations

import numpy as np
import scipy.integrate

from srcgrad.rules.compositions.registry import follow, is_constant, means, only_once
from srcgrad.rules.compositions.scipy.roots import as_tuple
from srcgrad.rules.user import stop_gradient

EPSILON = 2.0**-52
FINER = 4  # times as many intervals as the value may have, for its derivatives
NARROW = 2.0**-36  # of the whole: not halved any more

# fmt: off
HALF_21 = (
    0.995657163025808080735527280689003, 0.973906528517171720077964012084452, 0.930157491355708226001207180059508,
    0.865063366688984510732096688423493, 0.780817726586416897063717578345042, 0.679409568299024406234327365114874,
    0.562757134668604683339000099272694, 0.433395394129247190799265943165784, 0.294392862701460198131126603103866,
    0.148874338981631210884826001129720)
KRONROD_21 = (
    0.011694638867371874278064396062192, 0.032558162307964727478818972459390, 0.054755896574351996031381300244580,
    0.075039674810919952767043140916190, 0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
    0.123491976262065851077958109585166, 0.134709217311473325928054001771707, 0.142775938577060080797094273138717,
    0.147739104901338491374841515972068, 0.149445554002916905664936468389821)
GAUSS_21 = (
    0.0, 0.066671344308688137593568809893332, 0.0, 0.149451349150580593145863396957658,
    0.0, 0.219086362515982043995534934228163, 0.0, 0.269266719309996355091226921569469,
    0.0, 0.295524224714752870173815619188769, 0.0)
HALF_15 = (
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245)
KRONROD_15 = (
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714)
GAUSS_15 = (
    0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780,
    0.0, 0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327)
# fmt: on


NODES_21, WEIGHTS_21, COARSE_21 = (
    (*[-x for x in HALF_21], 0.0, *HALF_21[::-1]),
    (*KRONROD_21, *KRONROD_21[-2::-1]),
    (*GAUSS_21, *GAUSS_21[-2::-1]),
)
NODES_15, WEIGHTS_15, COARSE_15 = (
    (*[-x for x in HALF_15], 0.0, *HALF_15[::-1]),
    (*KRONROD_15, *KRONROD_15[-2::-1]),
    (*GAUSS_15, *GAUSS_15[-2::-1]),
)


@means(scipy.integrate.quad)
def quad(func, a, b, args=(), full_output=0, epsabs=1.49e-8, epsrel=1.49e-8, limit=50):
    only_once("scipy.integrate.quad")
    if full_output:
        raise NotImplementedError("quad with full_output is not supported")
    if epsabs <= 0 and epsrel < 50 * EPSILON:
        raise ValueError("the input is invalid: epsabs and epsrel are too small")
    args = as_tuple(args)
    a, b = float(a), float(b)
    if is_infinite(a) or is_infinite(b):
        value, error = over_the_end(func, a, b, args, epsabs, epsrel, limit)
    else:
        low, high = stop_gradient(a), stop_gradient(b)
        sign = 1.0
        if high < low:
            low, high, sign = high, low, -1.0
        value, error = adaptive(func, args, low, high, 0.0, 1.0, 21, epsabs, epsrel, limit)
        value = sign * value
    if not is_constant(b):
        value = follow(value, b, float(func(b, *args)))
    if not is_constant(a):
        value = follow(value, a, -float(func(a, *args)))
    return value, error


def is_infinite(end):
    if is_constant(end):
        return abs(end) == np.inf
    if abs(end) == np.inf:
        raise NotImplementedError("an end of quad that is infinite must be a constant:  np.inf")
    return False


def over_the_end(f, a, b, args, epsabs, epsrel, limit):
    """One end at least is infinite: the integral over t from 0 to 1, with x = bound + direction * (1 - t) / t."""
    if not is_infinite(a):
        bound, direction, sign, count = stop_gradient(a), np.sign(b), np.sign(b), 15
    elif not is_infinite(b):
        bound, direction, sign, count = stop_gradient(b), np.sign(a), -np.sign(a), 15
    else:
        bound, direction, sign, count = 0.0, 1.0, 0.5 * (np.sign(b) - np.sign(a)), 30
    value, error = adaptive(f, args, 0.0, 1.0, bound, direction, count, epsabs, epsrel, limit)
    return sign * value, error


def rule(f, args, low, high, bound, direction, count):
    """The integral over an interval, and its error.

    With 21 nodes; or with 15 of f(bound + direction * (1 - t) / t) / t**2, on both sides with 30.
    """
    nodes = np.array(NODES_21 if count == 21 else NODES_15)
    weights = np.array(WEIGHTS_21 if count == 21 else WEIGHTS_15)
    coarse = np.array(COARSE_21 if count == 21 else COARSE_15)
    n = 21 if count == 21 else 15
    centre, half = 0.5 * (low + high), 0.5 * (high - low)
    values = np.zeros(n)
    total = 0.0
    for j in range(count):
        k = j % n
        t = centre + half * nodes[k]
        if count == 21:
            y = float(f(float(t), *args))
        else:
            x = float(bound + direction * (1.0 - t) / t)
            y = float(f(x if j < n else -x, *args)) / t / t
        total += weights[k] * y
        values[k] += stop_gradient(y)
    fine = stop_gradient(total)
    error = abs((fine - np.sum(coarse * values)) * half)
    spread = np.sum(weights * np.abs(values - fine * 0.5)) * abs(half)
    if spread != 0:
        error = spread * min(1.0, (200.0 * error / spread) ** 1.5)
    return total * half, max(50.0 * EPSILON * np.sum(weights * np.abs(values)) * abs(half), error)


def adaptive(f, args, low, high, bound, direction, count, epsabs, epsrel, limit):
    """The interval with the largest error is halved, until the errors add up to no more than is asked for.

    That is the value, and SciPy's.  Then those that derivatives have: where the function has a kink, or a root at
    an end, an interval's error of these is that of the area by the width.
    The rule stands in one place: even rounds are for all of it and for second halves, odd ones for first halves.
    """
    most = FINER * limit
    lows, highs, areas, errors = np.zeros(most), np.ones(most), np.zeros(most), np.zeros(most)
    begin, end, worst = low, high, 0
    value, error, is_settled = 0.0, 0.0, False
    for i in range(2 * most - 1):
        area, doubt = rule(f, args, begin, end, bound, direction, count)
        if i % 2 == 1:
            behind = highs[worst]
            lows[worst], highs[worst], areas[worst], errors[worst] = begin, end, area, doubt
            begin, end = end, behind
            continue
        k = i // 2
        lows[k], highs[k], areas[k], errors[k] = begin, end, area, doubt
        whole, total = np.sum(errors), np.sum(stop_gradient(areas))
        asked = max(epsabs, epsrel * abs(total))
        if not is_settled:
            value, error, is_settled = total, whole, whole <= asked
            if np.isnan(whole) or k >= limit - 1:
                break
        wanted = errors
        if is_settled:
            wanted = np.where(highs - lows > NARROW * (high - low), errors / (highs - lows), 0.0)
            if np.max(wanted) * (high - low) <= asked or k >= most - 1:
                break
        worst = int(np.argmax(wanted))
        begin, end = lows[worst], 0.5 * (lows[worst] + highs[worst])
    fine = np.sum(areas)
    return value + (fine - stop_gradient(fine)), error
