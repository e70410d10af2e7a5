"""hello: the square of a number, and its derivative."""

from srcgrad import grad


@grad
def square(x):
    return x * x


def prepare(given):
    return (float(given),)


EXAMPLE = 3.0
FUNCTIONS = {
    "square": (prepare, square, float),
    "double": (prepare, square.backward, float),
}
