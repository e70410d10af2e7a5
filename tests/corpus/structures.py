"""Dicts, dataclasses, named tuples and simple objects inside a function, and what objects from outside hold."""

import functools
from dataclasses import dataclass

import numpy as np

from .registry import ONLY64, case, program, real


@dataclass
class Layer:
    w: np.ndarray
    b: float = 0.5
    name: str = "layer"

    def energy(self, k=2):
        return (self.w**k).sum() * self.b

    @property
    def norm(self):
        return np.sqrt((self.w**2).sum() + 1.0)


class Vector:
    scale = 2.0

    def __init__(self, x, y):
        self.x = x
        self.y = y
        self.uses = 0

    def add(self, other):
        self.uses += 1
        return Vector(self.x + other.x, self.y + other.y)

    def __call__(self, t):
        return self.x * t + self.y * self.scale


class Model:
    def __init__(self, w):
        self.w = w
        self.steps = 3
        self.options = {"rate": 0.5, "mask": w * 2}

    def helper(self, x):
        return (self.w * x**2).sum() * 2.0

    @staticmethod
    def doubled(x):
        return x * 2

    def __call__(self, x):
        return self.helper(x) * self.steps + self.options["rate"] * (self.options["mask"] * x).sum()


MODEL = Model(np.array([0.5, 1.5, -0.5]))
WEIGHTS = {
    "w": np.array([1.0, 2.0, 3.0]),
    "layers": [(np.array([0.1, 0.2, 0.3]), 1.5), (np.array([0.3, 0.2, 0.1]), 2.5)],
}
FUNCTIONS = {"double": lambda t: t * 2, "sine": np.sin}


def weighted(x, a, b=2.0):
    return (x * a).sum() * b


PARTIAL = functools.partial(weighted, a=np.array([1.0, -1.0, 2.0]))


@program(case(real(3)), compiled=True)
def dicts(x):
    d = {"a": x * 2, "b": x[0]}
    d["c"] = d["a"] * d["b"]
    s = x[0] * 0
    for key, value in d.items():
        s = s + np.sum(value) * len(key)
    e = {**d, "z": x[1]}
    e["z"] += x[1]
    g = {k: v * 2 for k, v in e.items() if k != "b"}
    if "q" not in g and "a" in g:
        s += g.get("z") * g.get("q", 3.0)
    return s + (g.pop("a") * x).sum() + len(g)


@program(case(real(4)))
def dict_round_a_loop(x):
    state = {"u": x.copy(), "t": x[0]}
    for i in range(len(x)):
        state["u"] = np.sin(state["u"]) * x
        state["t"] += state["u"][i]
    return state["t"]


@program(case(real(4)))
def dict_on_one_path(x):
    d = dict(a=x[0], b=x[1])
    if x[0] > 0.0:
        d["a"] = x[2] ** 2
    d.update(c=d["a"] * d["b"])
    return d["c"] + d["a"]


@program(case(real(3)))
def dataclass_made_inside(x):
    layer = Layer(x, b=x[0])
    layer.b *= 2
    return layer.energy() + layer.norm + layer.energy(k=3) + len(layer.name)


@program(case(real(3)))
def objects_in_a_list(x):
    layers = [Layer(x * i) for i in range(3)]
    for layer in layers:
        layer.b = layer.w[1] + 1
    return sum(layer.energy() for layer in layers)


@program(case(real(5)))
def objects_that_make_objects(x):
    v = Vector(x[0], x[1])
    u = v.add(Vector(x[2], x[3])).add(v)
    return u(x[4]) * v.uses + u.scale * x[0]


@program(case(real(3), dtypes=ONLY64), compiled=True)
def objects_from_outside(x):
    return MODEL(x) + Model.doubled(x).sum() * MODEL.helper(x)


@program(case(real(3), dtypes=ONLY64))
def dict_from_outside(x):
    return (WEIGHTS["w"] * x).sum() + sum((w * x * s).sum() for w, s in WEIGHTS["layers"])


@program(case(real(3), dtypes=ONLY64))
def partials(x):
    own = functools.partial(weighted, x, b=x[1])
    return PARTIAL(x) * PARTIAL(x, b=x[0]) + own(x)


@program(case(real(3)))
def functions_in_containers(x):
    pair = (lambda t: t * t, np.cos)
    return (FUNCTIONS["double"](x) + FUNCTIONS["sine"](x) + pair[0](x) * pair[1](x)).sum()


def any_number(x, *factors, scale=1.0, **options):
    y = x * scale
    for factor in factors:
        y = y * factor
    return (y**2 if options.get("square", False) else y).sum()


@program(case(real(3)))
def stars_in_calls(x):
    options = {"scale": x[0], "square": True}
    return any_number(x, *(x[0], 2.0), **options) + any_number(x)
