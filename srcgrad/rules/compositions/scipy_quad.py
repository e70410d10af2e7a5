"""SciPy's integral of a function: QUADPACK's adaptive rules (QAGS, QAGI), by its own steps, in its own order.

Which intervals are halved is decided by numbers through which no derivative goes; the sums over them, and what is
extrapolated from these, are differentiated as they are.  The ends move the integral by what the function is there.
"""

from __future__ import annotations

import numpy as np
import scipy.integrate

from srcgrad.rules.compositions.registry import follow, is_constant, means, only_once
from srcgrad.rules.compositions.scipy_roots import as_tuple
from srcgrad.rules.user import stop_gradient

EPSILON, SMALLEST, LARGEST = 2.220446049250313e-16, 2.2250738585072014e-308, 1.7976931348623157e308

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
    """The integral over an interval, its error, and those of the absolute value and of the distance from the mean.

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
    absolute = np.sum(weights * np.abs(values)) * abs(half)
    spread = np.sum(weights * np.abs(values - fine * 0.5)) * abs(half)
    if spread != 0 and error != 0:
        error = spread * min(1.0, (200.0 * error / spread) ** 1.5)
    if absolute > SMALLEST / (50.0 * EPSILON):
        error = max(50.0 * EPSILON * absolute, error)
    return total * half, error, absolute, spread


def adaptive(f, args, low, high, bound, direction, count, epsabs, epsrel, limit):
    """QUADPACK's dqagse and dqagie: places in arrays are counted from 1."""
    if epsabs <= 0 and epsrel < max(50 * EPSILON, 0.5e-28):
        raise ValueError("the input is invalid: epsabs and epsrel are too small")
    lows, highs, errors = np.zeros(limit + 4), np.zeros(limit + 4), np.zeros(limit + 4)
    areas, order = np.zeros(limit + 4), np.zeros(limit + 4, np.int64)
    table, latest, table_state = np.zeros(56), np.zeros(4), np.zeros(2, np.int64)  # how long it is, and of what age
    result, error, area = 0.0, LARGEST, 0.0
    error_sum, bound_of_error, largest, greatest = 0.0, 0.0, 0.0, 1
    area_first, error_first, spread_first = 0.0, 0.0, 0.0
    rank, patience = 1, 0
    is_extrapolating, is_plain, worst_three, failed = False, False, False, 0
    off_plain, off_extrapolating, off_growing = 0, 0, 0
    small, error_of_large, test, correction = 0.0, 0.0, 0.0, 0.0
    is_sum, ended = False, False
    last, begin, end = 1, low, high
    for i in range(2 * limit - 1):
        part, part_error, absolute, spread = rule(f, args, begin, end, bound, direction, count)
        part_now = stop_gradient(part)
        if i == 0:
            bound_of_error = max(epsabs, epsrel * abs(part_now))
            lows[1], highs[1], areas[1], errors[1], order[1] = low, high, part, part_error, 1
            result, area, largest, error_sum = part, part, part_error, part_error
            table[1] = part
            is_rounding = part_error <= 100.0 * EPSILON * absolute and part_error > bound_of_error
            if (
                is_rounding
                or limit == 1
                or (part_error <= bound_of_error and part_error != spread)
                or part_error == 0
                or np.isnan(part_error)
            ):
                error = part_error
                ended = True
                break
            table_state[0] = 2
            begin, end = low, 0.5 * (low + high)
            continue
        middle = 0.5 * (lows[greatest] + highs[greatest])
        if i % 2 == 1:
            area_first, error_first, spread_first = part, part_error, spread
            begin, end = middle, highs[greatest]
            continue
        last += 1
        first, behind = lows[greatest], highs[greatest]
        error_before = largest
        both, both_error = area_first + part, error_first + part_error
        both_now, area_before = stop_gradient(both), stop_gradient(areas[greatest])
        error_sum = error_sum + both_error - largest
        area = area + both - areas[greatest]
        if spread_first != error_first and spread != part_error:
            if abs(area_before - both_now) <= 1e-5 * abs(both_now) and both_error >= 0.99 * largest:
                if is_extrapolating:
                    off_extrapolating += 1
                else:
                    off_plain += 1
            if last > 10 and both_error > largest:
                off_growing += 1
        area_now = stop_gradient(area)
        bound_of_error = max(epsabs, epsrel * abs(area_now))
        if off_plain + off_extrapolating >= 10 or off_growing >= 20:
            failed = 2
        if off_extrapolating >= 5:
            worst_three = True
        if last == limit:
            failed = 1
        if max(abs(first), abs(behind)) <= (1.0 + 100.0 * EPSILON) * (abs(middle) + 1000.0 * SMALLEST):
            failed = 4
        if part_error > error_first:
            lows[greatest], lows[last], highs[last] = middle, first, middle
            areas[greatest], areas[last] = part, area_first
            errors[greatest], errors[last] = part_error, error_first
        else:
            lows[last], highs[greatest], highs[last] = middle, middle, behind
            areas[greatest], areas[last] = area_first, part
            errors[greatest], errors[last] = error_first, part_error
        greatest, rank = in_order(limit, last, greatest, errors, order, rank)
        largest = errors[greatest]
        if error_sum <= bound_of_error:
            is_sum = True
            break
        if failed != 0:
            break
        if last == 2:
            small = abs(high - low) * 0.375
            error_of_large, test = error_sum, bound_of_error
            table[2] = area
        elif not is_plain:
            error_of_large = error_of_large - error_before
            if abs(middle - first) > small:
                error_of_large += both_error
            is_next = is_extrapolating
            if not is_extrapolating and abs(highs[greatest] - lows[greatest]) <= small:
                is_extrapolating, rank, is_next = True, 2, True
            if is_next and not worst_three and error_of_large > test:
                top = limit + 3 - last if last > 2 + limit // 2 else last
                for _ in range(rank, top + 1):
                    greatest = order[rank]
                    largest = errors[greatest]
                    if abs(highs[greatest] - lows[greatest]) > small:
                        is_next = False
                        break
                    rank += 1
            if is_next:
                table_state[0] += 1
                table[table_state[0]] = area
                limit_of_sums, error_of_limit = extrapolated(table, latest, table_state)
                patience += 1
                if patience > 5 and error < 1e-3 * error_sum:
                    failed = 5
                if error_of_limit < error:
                    patience, error, result, correction = 0, error_of_limit, limit_of_sums, error_of_large
                    test = max(epsabs, epsrel * abs(stop_gradient(limit_of_sums)))
                    if error <= test:
                        break
                if table_state[0] == 1:
                    is_plain = True
                if failed == 5:
                    break
                greatest, rank, is_extrapolating = order[1], 1, False
                largest = errors[greatest]
                small, error_of_large = small * 0.5, error_sum
        begin, end = lows[greatest], 0.5 * (lows[greatest] + highs[greatest])
    if not ended:
        result_now, area_now = stop_gradient(result), stop_gradient(area)
        if error == LARGEST:
            is_sum = True
        elif not is_sum and (failed != 0 or worst_three):
            if worst_three:
                error += correction
            if result_now != 0 and area_now != 0:
                is_sum = error / abs(result_now) > error_sum / abs(area_now)
            else:
                is_sum = error > error_sum
        if is_sum:
            result, error = np.sum(areas[1 : last + 1]), error_sum
    return result, error


def in_order(limit, last, greatest, errors, order, rank):
    """dqpsrt: the intervals by their errors, and which of them is the next to be halved."""
    if last <= 2:
        order[1], order[2] = 1, 2
        return order[rank], rank
    largest, smallest = errors[greatest], errors[last]
    while rank > 1 and largest > errors[order[rank - 1]]:
        order[rank] = order[rank - 1]
        rank -= 1
    top = limit + 3 - last if last > limit // 2 + 2 else last
    i = rank + 1
    while i <= top - 1 and largest < errors[order[i]]:
        order[i - 1] = order[i]
        i += 1
    if i > top - 1:
        order[top - 1], order[top] = greatest, last
    else:
        order[i - 1] = greatest
        k = top - 1
        while k >= i and smallest >= errors[order[k]]:
            order[k + 1] = order[k]
            k -= 1
        order[k + 1] = last
    return order[rank], rank


def extrapolated(table, latest, state):
    """dqelg: the epsilon algorithm, on a table of so many sums."""
    n = state[0]
    state[1] += 1
    result, error = table[n], LARGEST
    if n < 3:
        return result, max(error, 5.0 * EPSILON * abs(stop_gradient(result)))
    table[n + 2] = table[n]
    table[n] = LARGEST
    length, k, is_settled = n, n, False
    pairs = (n - 1) // 2
    for i in range(1, pairs + 1):
        e0, e1, e2, e3 = table[k - 2], table[k - 1], table[k + 2], table[k]
        h0, h1, h2, h3 = stop_gradient(e0), stop_gradient(e1), stop_gradient(e2), stop_gradient(e3)
        error2, error3, error1 = abs(h2 - h1), abs(h1 - h0), abs(h1 - h3)
        near2, near3 = max(abs(h2), abs(h1)) * EPSILON, max(abs(h1), abs(h0)) * EPSILON
        if error2 <= near2 and error3 <= near3:
            result, error, is_settled = e2, error2 + error3, True
            break
        table[k] = e1
        if error1 <= max(abs(h1), abs(h3)) * EPSILON or error2 <= near2 or error3 <= near3:
            n = 2 * i - 1
            break
        rate = 1.0 / (e1 - e3) + 1.0 / (e2 - e1) - 1.0 / (e1 - e0)
        if abs(stop_gradient(rate) * h1) <= 1e-4:
            n = 2 * i - 1
            break
        found = e1 + 1.0 / rate
        table[k] = found
        k -= 2
        error_found = error2 + abs(stop_gradient(found) - h2) + error3
        if error_found <= error:
            error, result = error_found, found
    if not is_settled:
        if n == 50:
            n = 49
        at = 2 if length % 2 == 0 else 1
        for _ in range(pairs + 1):
            table[at] = table[at + 2]
            at += 2
        if length != n:
            for i in range(1, n + 1):
                table[i] = table[length - n + i]
        state[0] = n
        result_now = stop_gradient(result)
        if state[1] < 4:
            latest[state[1]] = result_now
            error = LARGEST
        else:
            error = abs(result_now - latest[3]) + abs(result_now - latest[2]) + abs(result_now - latest[1])
            latest[1], latest[2], latest[3] = latest[2], latest[3], result_now
    return result, max(error, 5.0 * EPSILON * abs(stop_gradient(result)))
