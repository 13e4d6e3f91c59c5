"""Shared by tests of composite operations: a model of one, its results on a device or as its decomposition."""

from collections.abc import Callable
from typing import Any

import nnapi
from nnapi.lowering.expansion import expand
from nnapi.model.builder import Builder
from nnapi.model.model import Model
from tests.engines import DEVICES, find_device

DECOMPOSED = "decomposed"
"""Instead of a device: the operations that replace the composite, on the reference."""
WAYS = [*DEVICES, DECOMPOSED]
"""The devices and the decomposition, as parameters of a test."""


def model_of(make: Callable[[Builder], Any]) -> Model:
    """Return a finished model; ``make`` adds its operation to a builder, and returns one or several results."""
    builder = Builder()
    made = make(builder)
    builder.output(*(made if isinstance(made, tuple) else (made,)))
    return builder.finish()


def run(model: Model, way: str, *arrays: Any) -> list[Any]:
    """Return the results on a device, or as the decomposition."""
    if way == DECOMPOSED:
        shown = expand(model)
        assert not shown.refusals
        model, way = shown.model, "nnapi-reference"
    return list(nnapi.compile(model, find_device(way), cache=False).run(*arrays))
