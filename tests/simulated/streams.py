"""Run in Numba's simulator: streams, and what the simulator can't do."""

import numpy as np
from numba import cuda

import srcgrad.cuda
from srcgrad import grad
from srcgrad.errors import DeviceError


@grad(target="cuda")
def f(x):
    return x * x


x = cuda.to_device(np.arange(3.0))
with srcgrad.cuda.stream(cuda.stream()):
    x_b = f.backward(x, cuda.to_device(np.ones(3)))
np.testing.assert_array_equal(x_b.copy_to_host(), [0, 2, 4])

try:
    f.ptx(np.ones(3))
except DeviceError as error:
    assert "NUMBA_ENABLE_CUDASIM" in str(error)
else:
    raise AssertionError("the simulator compiled something")
