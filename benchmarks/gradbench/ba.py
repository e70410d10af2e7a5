"""ba: bundle adjustment, the sparse Jacobian of what p observations of m points by n cameras miss by.

A camera is (rotation 3, centre 3, focal length, principal point 2, radial distortion 2).  An observation depends on its
camera, its point and its weight alone: 15 numbers.  Given a copy of its own of these, the Jacobian of all observations
is made of blocks, and two products with it hold every entry: all first rows, and all second rows.
"""

import math

import numpy as np
from numba import njit

from srcgrad import grad

CAMERA, POINT, OWN = 11, 3, 15
BLOCK = 512


@grad(wrt="own")
def miss(own, feats):
    """The weighted reprojection errors, two an observation; `own` holds its camera, its point and its weight."""
    out = np.empty((own.shape[0], 2))
    for i in range(own.shape[0]):
        r0, r1, r2 = own[i, 0], own[i, 1], own[i, 2]
        x0, x1, x2 = own[i, 11] - own[i, 3], own[i, 12] - own[i, 4], own[i, 13] - own[i, 5]
        square = r0 * r0 + r1 * r1 + r2 * r2
        if square != 0.0:
            angle = math.sqrt(square)
            c, s = math.cos(angle), math.sin(angle)
            r0, r1, r2 = r0 / angle, r1 / angle, r2 / angle
            along = (r0 * x0 + r1 * x1 + r2 * x2) * (1.0 - c)
            y0 = x0 * c + (r1 * x2 - r2 * x1) * s + r0 * along
            y1 = x1 * c + (r2 * x0 - r0 * x2) * s + r1 * along
            y2 = x2 * c + (r0 * x1 - r1 * x0) * s + r2 * along
        else:
            y0 = x0 + r1 * x2 - r2 * x1
            y1 = x1 + r2 * x0 - r0 * x2
            y2 = x2 + r0 * x1 - r1 * x0
        p, q = y0 / y2, y1 / y2
        radius = p * p + q * q
        distortion = 1.0 + own[i, 9] * radius + own[i, 10] * radius * radius
        out[i, 0] = own[i, 14] * (p * distortion * own[i, 6] + own[i, 7] - feats[i, 0])
        out[i, 1] = own[i, 14] * (q * distortion * own[i, 6] + own[i, 8] - feats[i, 1])
    return out


@grad(wrt="w")
def regularization(w):
    return 1.0 - w * w


@njit
def gather(cameras, points, w, observed):
    own = np.empty((w.size, OWN))
    for i in range(w.size):
        for j in range(CAMERA):
            own[i, j] = cameras[observed[i, 0], j]
        for j in range(POINT):
            own[i, CAMERA + j] = points[observed[i, 1], j]
        own[i, OWN - 1] = w[i]
    return own


def objective(cameras, points, w, observed, feats):
    return miss(gather(cameras, points, w, observed), feats), regularization(w)


@njit
def jacobian(cameras, points, w, observed, feats):
    """The rows, columns and values of all of it: two rows an observation, then a row for each weight."""
    p = w.size
    rows, cols = np.empty(3 * p + 1, np.int32), np.empty((2 * OWN + 1) * p, np.int32)
    vals = np.empty((2 * OWN + 1) * p)
    first_point = CAMERA * len(cameras)
    first_weight = first_point + POINT * len(points)
    unit = np.zeros((2, BLOCK, 2))
    unit[0, :, 0] = 1.0
    unit[1, :, 1] = 1.0
    for start in range(0, p, BLOCK):  # a block's copies and products stay in the cache
        block = slice(start, min(start + BLOCK, p))
        own = gather(cameras, points, w[block], observed[block])
        for half in range(2):
            blocks = miss.backward(own, feats[block], unit[half, : len(own)])
            for i in range(len(own)):
                at = (2 * (start + i) + half) * OWN
                rows[2 * (start + i) + half] = at
                camera, point = observed[start + i]
                for j in range(CAMERA):
                    cols[at + j] = CAMERA * camera + j
                for j in range(POINT):
                    cols[at + CAMERA + j] = first_point + POINT * point + j
                cols[at + OWN - 1] = first_weight + start + i
                for j in range(OWN):
                    vals[at + j] = blocks[i, j]
    weights = regularization.backward(w, np.ones(p))
    for i in range(p):
        at = 2 * OWN * p + i
        rows[2 * p + i] = at
        cols[at] = first_weight + i
        vals[at] = weights[i]
    rows[3 * p] = (2 * OWN + 1) * p
    return rows, cols, vals


def prepare(given):
    """One camera, point, weight and feature, repeated."""
    n, m, p = given["n"], given["m"], given["p"]
    cameras, points = np.tile(given["cam"], (n, 1)), np.tile(given["x"], (m, 1))
    observed = np.stack([np.arange(p, dtype=np.int32) % n, np.arange(p, dtype=np.int32) % m], axis=1)
    return cameras, points, np.full(p, given["w"]), observed, np.tile(given["feat"], (p, 1))


def show_objective(errors):
    misses, weights = errors
    return {
        "reproj_error": {"elements": misses[0].tolist(), "repeated": len(misses)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def show_jacobian(parts):
    """The first thirty entries and the last one, as the suite has it: the others repeat them."""
    return {
        name: [*part[: 2 * OWN].tolist(), part[-1].item()]
        for name, part in zip(("rows", "cols", "vals"), parts, strict=True)
    }


EXAMPLE = {
    "n": 2,
    "m": 3,
    "p": 30,
    "cam": [0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 2.0, 0.3, -0.1, 0.05, 0.02],
    "x": [1.0, 0.2, 3.0],
    "w": 0.4,
    "feat": [0.7, -0.2],
}
FUNCTIONS = {
    "objective": (prepare, objective, show_objective),
    "jacobian": (prepare, jacobian, show_jacobian),
}
