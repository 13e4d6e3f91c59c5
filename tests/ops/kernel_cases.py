"""Composites of one operation: their kernel beside their decomposition and the engines."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Model, compile, tensor
from nnapi.lowering.expansion import expand, has_composites
from nnapi.runtime.device import Device, device

RANDOM = np.random.default_rng(9)
Build = Callable[..., Any]
ENGINES = "xnnpack", "openvino"


def normal(*shape: int, dtype: Any = np.float32) -> Any:
    return RANDOM.normal(size=shape).astype(dtype)


def build(make: Build, inputs: Sequence[Any]) -> Model:
    """The model of the tensors that ``make`` returns for a builder and inputs like these arrays."""
    b = Builder()
    b.output(make(b, *(b.input(tensor(str(each.dtype), each.shape)) for each in inputs)))
    return b.finish()


def engine(name: str) -> Device:
    if name == "openvino":
        pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")
        from nnapi.drivers.openvino import OpenVinoDriver

        return Device(OpenVinoDriver(threads=1))
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    from nnapi.drivers.xnnpack import XnnpackDriver

    return Device(XnnpackDriver(threads=1))


def compute(make: Build, *inputs: Any) -> Any:
    return compile(build(make, inputs), [device("nnapi-reference")]).run(*inputs)[0]


def need_same_parts(make: Build, *inputs: Any, bound: float = 2e-6) -> Any:
    """Compare the kernel with the decomposition; return the kernel's result."""
    model = build(make, inputs)
    parts = expand(model)
    assert not parts.refusals
    assert not has_composites(parts.model)
    found, flat = (compile(each, [device("nnapi-reference")]).run(*inputs)[0] for each in (model, parts.model))
    np.testing.assert_allclose(flat, found, bound, bound)
    return found


def need_same_on(name: str, make: Build, *inputs: Any, bound: float = 5e-6) -> None:
    """Compare an engine with the kernel."""
    model = build(make, inputs)
    ours, expected = (compile(model, [which]).run(*inputs)[0] for which in (engine(name), device("nnapi-reference")))
    np.testing.assert_allclose(ours, expected, bound, bound)
