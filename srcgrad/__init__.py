"""Gradients of numeric Python functions, as Python source that you can read, compiled with Numba."""

from __future__ import annotations

from srcgrad.garbage import here_to_stay, no_search_for_garbage

with no_search_for_garbage():  # it would be a seventh of the import
    from srcgrad import cuda
    from srcgrad.api import GradFunction, grad
    from srcgrad.errors import (
        ArgumentError,
        AttributeArgumentError,
        BoundsError,
        BroadcastError,
        CompiledError,
        CotangentShapeError,
        DepthError,
        DeviceError,
        ImportArgumentError,
        IndexArgumentError,
        KeyArgumentError,
        LaterError,
        ModuleArgumentError,
        NameArgumentError,
        NoItemsError,
        NoneArgumentError,
        OptionError,
        OverlapError,
        RuntimeAttributeError,
        RuntimeImportError,
        RuntimeKeyError,
        RuntimeNameError,
        RuntimeOverflowError,
        RuntimeShapeError,
        RuntimeTypeError,
        RuntimeUnsupportedError,
        RuntimeValueError,
        RuntimeZeroDivisionError,
        ShapeError,
        ShortAxisError,
        SourceError,
        SrcgradError,
        UnsupportedError,
        ValueArgumentError,
        ZeroDivisionArgumentError,
    )
    from srcgrad.pullback import Pullback
    from srcgrad.rules.user import rule, stop_gradient
    from srcgrad.runtime.memory import release_memory
    from srcgrad.testing import check_grad

    here_to_stay()

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "AttributeArgumentError",
    "BoundsError",
    "BroadcastError",
    "CompiledError",
    "CotangentShapeError",
    "DepthError",
    "DeviceError",
    "GradFunction",
    "LaterError",
    "KeyArgumentError",
    "ModuleArgumentError",
    "NameArgumentError",
    "NoItemsError",
    "NoneArgumentError",
    "OptionError",
    "OverlapError",
    "Pullback",
    "RuntimeAttributeError",
    "RuntimeImportError",
    "RuntimeKeyError",
    "RuntimeNameError",
    "RuntimeOverflowError",
    "RuntimeShapeError",
    "RuntimeTypeError",
    "RuntimeUnsupportedError",
    "RuntimeValueError",
    "RuntimeZeroDivisionError",
    "ShapeError",
    "ShortAxisError",
    "SourceError",
    "SrcgradError",
    "UnsupportedError",
    "ImportArgumentError",
    "IndexArgumentError",
    "ValueArgumentError",
    "ZeroDivisionArgumentError",
    "check_grad",
    "cuda",
    "grad",
    "release_memory",
    "rule",
    "stop_gradient",
]
