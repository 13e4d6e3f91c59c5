"""Bounds of integers on the engine."""

import numpy as np
import pytest

import nnapi
from nnapi.model.operand import tensor
from nnapi.runtime.device import Device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi.drivers.openvino import OpenVinoDriver


def test_bounds_that_float32_rounds_are_exact() -> None:
    """The engine fuses a maximum and a minimum into a clamp with float bounds."""
    builder = nnapi.Builder()
    x = builder.maximum(builder.input(tensor("int32", (3,))), np.array([-2], np.int32))
    builder.output(builder.minimum(x, np.array([2**31 - 3], np.int32)))
    (found,) = nnapi.compile(builder.finish(), [Device(OpenVinoDriver(threads=1))]).run(
        np.array([-(2**31), 2**31 - 1, 2**24 + 1], np.int32)
    )
    assert found.tolist() == [-2, 2**31 - 3, 2**24 + 1]
