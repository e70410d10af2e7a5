"""Indices, read and written: every kind of index, beside every other, and what is a view and what a copy."""

import numpy as np
from corpus.registry import integers, positive, real, values

from .registry import call

K = integers(2, 0, -1, 2)
KK = integers(0, 2, -1, 1).reshape(2, 2)
M = np.array([True, False, True, True, False])
MM = np.array([[True, False, True], [False, True, True]])

BOUNDS = ((-9, 3, 1), (3, -9, -1), (1, 9, 2), (9, -2, -2), (4, 2, 1))


def write(text, **arguments):
    """Statements that change y, a copy of x."""
    return call(f"y = x * 1.5\n{text}", **arguments)


# fmt: off
CALLS = [
    # Index arrays, and where their axes go.
    call("x[k, 1:] * y", x=real(3, 4), y=real(4, 3), k=K, compiled=True),
    call("x[:, k]", x=real(3, 4), k=K),
    call("x[k, :, k]", x=real(3, 4, 3), k=K),
    call("x[:, k, k]", x=real(2, 4, 3), k=K),
    call("x[0, :, k]", x=real(3, 4, 3), k=K),
    call("x[:, 0, k]", x=real(3, 4, 3), k=K),
    call("x[k, None, k]", x=real(3, 4), k=K),
    call("x[..., k]", x=real(2, 3, 4), k=K),
    call("x[kk, :, 0]", x=real(3, 4, 2), kk=KK),
    call("x[k[:, None], k]", x=real(3, 4), k=K),
    call("x[[0, 2], [1, -1]]", x=real(3, 4)),
    call("x[[]]", x=real(3, 4)),
    call("x[np.array(1), 1:]", x=real(3, 4)),
    call("x[np.arange(len(k)), k]", x=real(4, 3), k=K),
    call("x[np.abs(np.arange(4)[:, None] - np.arange(4))]", x=real(4)),
    call("x[range(2)]", x=real(3, 4)),
    call("x[1:4][k]", x=real(6), k=integers(-3, 2, 0)),
    call("(x[1:] * x[:-1])[k, 1:]", x=real(6, 3), k=integers(-3, 2, 0)),
    call("x[np.ix_(k, [1, 2])]", x=real(3, 4), k=K),
    call("x[k.astype(np.int32)][::-1]", x=real(3, 4, layout="F"), k=K),
    # Masks.
    call("x[m, 0]", x=real(5, 3), m=M),
    call("x[:, m]", x=real(2, 5), m=M),
    call("x[mm, 1:]", x=real(2, 3, 4), mm=MM),
    call("x[..., mm]", x=real(4, 2, 3), mm=MM),
    call("x[m, :, k]", x=real(5, 3, 4), m=M, k=integers(0, 1, 3)),
    call("x[[True, False, True]]", x=real(3, 4)),
    call("x[(x > 0).any(axis=1), 1]", x=real(5, 3)),
    call("x[True] + x[x[0, 0] > -5.0, 1:, :1]", x=real(2, 3)),
    call("x[False]", x=real(2, 3)),
    call("s = y = 0.1\nfor _ in range(3):\n    y += x[x > s].sum()\n    s += 0.3\n    y *= x[x > s].sum()", x=real(6)),
    # Conditions as indices.
    call("x[np.where(x > 0)]", x=real(3, 4)),
    call("x[(x > 0).nonzero()] * x[np.nonzero(x > 0)]", x=real(3, 4)),
    call("x[np.flatnonzero(x > 0)] * np.argwhere(x > 0)[:, 0]", x=real(5), compiled=True),
    call("np.argwhere(x.reshape(2, 3) > 0) * x[0]", x=values(0.5, -0.4, 0.3, -0.9, 0.8, 0.7)),
    call("rows = np.where(m)[0]\ny = 0.0\nfor r in rows:\n    y += x[r, 0] ** 2", x=real(5, 2), m=M),
    call("x[np.tril_indices(3)] * x[np.triu_indices_from(x)]", x=real(3, 3)),
    call("i, j = np.unravel_index(np.argmax(x), x.shape)\ny = x[i, j] * i", x=real(3, 4)),
    call("x.flat[np.ravel_multi_index((k, k), x.shape)] * x[np.unravel_index(k, (3, 4))]", x=real(3, 4), k=K[:2]),
    # Slices: bounds and steps that are only known at run time, slices in variables.
    *(call("x[a:b:c]", x=real(5), a=a, b=b, c=c) for a, b, c in BOUNDS),
    call("x[7:] + x[-1:-9:-7].sum() + x[:-7]", x=real(5)),
    call("x[n:-n] * x[-n::-1][0]", x=real(5), n=2),
    call("s = slice(1, -1)\ny = x[s, s] * x[s][:, s]", x=real(4, 4)),
    call("s = np.s_[n:, None]\ny = x[s] * x[np.index_exp[::-1]][0]", x=real(4), n=2),
    call("s = [slice(None)] * 3\ns[1] = slice(n, None)\ny = x[tuple(s)]", x=real(2, 3, 2), n=1),
    call("y = np.zeros(4)\nfor i in range(0, 4, 2):\n    s = slice(i, i + 2)\n    y[s] = x[s] * x[i]", x=real(4)),
    # x.flat
    call("x.flat[3] * x.T.flat[1:4]", x=real(3, 2)),
    call("v = x.flat[1:3]\nv[0] = 5.0\ny = v * x[0, 1]", x=real(3, 2)),
    write("y.flat[1:] *= z\ny.T.flat[2] = z[0]", x=real(3, 2), z=real(5)),
    write("y.flat = [x[0, 0], 2.0]", x=real(3, 2)),
    write("y.flat[::4] = z", x=real(3, 3), z=real(3)),
    # Writes by index.
    write("y[k, 1:] += z", x=real(3, 4), z=real(4, 3), k=K, compiled=True),
    write("y[k] *= z", x=real(3, 4), z=real(4), k=K),
    write("y[k] = z", x=real(4), z=real(4), k=K),
    write("y[k, :, k] -= z", x=real(3, 2, 3), z=real(4, 2), k=K),
    write("y[kk, 0] += z", x=real(3, 2), z=real(2, 2), kk=KK),
    write("y[k[:, None], k] = z * y[k[:, None], k]", x=real(3, 3), z=real(4, 4), k=K),
    write("y[[i, j]] = y[[j, i]]", x=real(3, 2), i=0, j=2),
    write("y[i], y[j] = y[j].copy(), y[i].copy()", x=real(3, 2), i=0, j=2),
    write("y[0], (y[1], y[2]) = y[1], (y[2], y[0])", x=real(3)),
    write("y[k] **= -1.5", x=positive(4), k=K),
    write("y[np.arange(4)] = y[np.arange(4) + 1]", x=real(5)),
    write("y[1:4][k] += z", x=real(6), z=real(3), k=integers(-3, 2, 0)),
    write("y[range(3), k] -= 1.0", x=real(3, 4), k=integers(1, 3, 3)),
    write("v = y[np.arange(2)]\nv[0] = 5.0\ny[1] *= v[1]", x=real(4)),
    write("y[np.diag_indices(3)] += z\nnp.fill_diagonal(y[:, 1:], z[1])", x=real(3, 3), z=real(3)),
    # Writes through masks.
    write("y[m] **= -1.5", x=positive(5, 2), m=M),
    write("y[m] *= z", x=real(5), z=real(3), m=M, compiled=True),
    write("y[m] = z[m] * y[m]", x=real(5), z=real(5), m=M),
    write("y[m, 1:] *= z", x=real(5, 3), z=real(3, 2), m=M),
    write("y[mm] += z", x=real(2, 3, 4), z=real(4, 4), mm=MM),
    write("y[m, k] += z", x=real(5, 4), z=real(3), m=M, k=integers(0, 1, 1)),
    write("y[y < 0] = -y[y < 0]", x=real(3, 4)),
    write("y[::-1][m] *= z\ny[~m] -= y[m].sum()", x=real(5), z=real(3), m=M),
    write("y[s > 0.0] *= 2.0\ny[False] = 1.0", x=real(5), s=0.3),
    write("y[np.where(y > 0)] *= z", x=real(3, 4), z=0.7),
    # The right side first.
    write("y[1:] = y[:-1]", x=real(5), compiled=True),
    write("y[1:] += y[:-1]\ny[:-1] -= y[1:] * y[:-1]", x=real(5)),
    write("y[:] = y[::-1]\ny += y[::-1] * x", x=real(5)),
    write("y[1:-1] = 0.5 * (y[:-2] + y[2:])", x=real(6)),
    write("y[:] = y.T\ny[0] = y[:, 0] * y[0, 1]\ny -= y[:, 0:1]", x=real(3, 3)),
    write("y[:, 0], y[:, 1] = y[:, 1] * 2, y[:, 0]", x=real(3, 2)),
    write("y[:2], y[2] = y[1:], y[0]", x=real(3, 2)),
    write("y /= y[0]", x=positive(4)),
    write("for k in range(4):\n    y[k:] -= 0.3 * y[:5 - k]\n    y[:k] *= y[k:2 * k][:1]", x=real(5)),
    # Shapes and dtypes of what is written.
    call("y = np.zeros((3, 2))\ny[:] = np.reshape(x, (3, 2))\ny[...] += x[:2]", x=real(6)),
    call("y = np.zeros((3, 2))\ny[:, 0] = y[:, 1] = x\ny[0] = (x[1], 2.0)", x=real(3)),
    write("y[:] = z", x=real(3, 2), z=real(1, 3, 2)),
    write("y[:, None] += z\ny[()] *= 2.0", x=real(2, 3), z=real(2, 1, 3)),
    call("k = np.array([2, 0, 1])\nk[k] += 1\nk[0] += 0.7\nk[1:] = [1.9, 2.9]\ny = k * x", x=real(3)),
    write("y[0] @= z\ny @= z", x=real(2, 3), z=real(3, 3)),
    # Views and copies.
    write("y.T[0] = z\ny.reshape(-1)[1:] *= y.ravel()[:-1]", x=real(3, 2), z=real(3)),
    write("y.real[0] *= 2.0\ny.real = y.real + x", x=real(3)),
    write("y[1:][1:] = z\ny[1:][0] *= y[::2][1]", x=real(5), z=real(3)),
    write("y[1][1:] += 3.0 * y[0][1:]\ny[1:, 1:][0][1] *= x[0, 0]", x=real(3, 3)),
    write("v = y.T\nu = v[::-1]\nu[0] *= z\nv[0, 1] = u[1, 0]", x=real(3, 2), z=real(3)),
    write("y[a:b:c][1:] *= z", x=real(5), z=real(2), a=0, b=5, c=2),
    write("v = y[k]\ny[:] = 0.5\ny += v.sum()", x=real(3), k=K),
    call("ys = (x * 1, x * 2)\nys[0][1] = 5.0\nys[1][1:] += ys[0][:-1]\ny = ys[0] * ys[1]", x=real(3)),
    call("y = np.array(x[0])\nfor k in range(3):\n    y += x[k]\n    y[...] = y * y", x=real(3), compiled=True),
    call("y = x * 1.0\nfor k in range(3):\n    v = y[k, ...]\n    v *= y[0]\n    v += v * v", x=real(3)),
    call("w = np.hanning(5)\nw[0] = x[0]\ny = w * x", x=real(5)),
    call("x.item(1) * x.item(0, 0) + x.T.item(-2) * x[:, 1:].item((3,))", x=real(2, 3), compiled=True),
    call("np.take(x, range(2, 0, -1), axis=0) * x.take(range(-2, 1))", x=real(3, 3)),
    # Only where a condition holds.
    call("np.divide(x, z, out=np.zeros_like(x), where=z > 0)", x=real(5), z=real(5)),
    call("y = np.zeros(3)\nnp.round(x, 1, out=y)\nz = np.zeros(3)\nx.round(out=z)\ny = y * x + z * x",
         x=values(1.23, 0.77, -3.36)),
    write("np.add(x, z, y, where=m)\nnp.exp(y, y, where=y > 0)\nnp.copyto(y, z, where=~m)", x=real(5), z=real(5), m=M),
    # One element after the other.
    write("np.add.at(y, (k, np.s_[1:]), z)", x=real(4, 3), z=real(4, 2), k=K),
    write("np.multiply.at(y, k, z)\nnp.subtract.at(y, [0, 0], y[:2])", x=real(4), z=real(4), k=K, compiled=True),
    write("np.maximum.at(y, m, z)\nnp.negative.at(y, 1)", x=real(5), z=real(3), m=M),
]
# fmt: on
