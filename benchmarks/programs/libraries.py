"""The peers' libraries, imported when they are first used: who has not installed one can run the others."""

from __future__ import annotations

import importlib
from typing import Any


class Library:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(importlib.import_module(self._name), attribute)
        setattr(self, attribute, value)  # from now on as fast as a module's own attribute
        return value


anp = Library("autograd.numpy")
ascipy_special = Library("autograd.scipy.special")
jax = Library("jax")
jnp = Library("jax.numpy")
jspecial = Library("jax.scipy.special")
lax = Library("jax.lax")
torch = Library("torch")
functional = Library("torch.nn.functional")
