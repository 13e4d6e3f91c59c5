"""Products by weights of 4 bits with a scale for each block, as one operator of XNNPACK where a model permits that."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.formats.tflite.reader import File
from nnapi.formats.tflite.writer import serialize
from nnapi.model.builder import Builder
from nnapi.model.model import Model
from nnapi.model.operand import Array, tensor
from nnapi.ops.blockwise_fully_connected import pack_bits, unpack_weights
from tests.ops.composite_cases import run as run_on
from tests.tflite_writer import Graph, T, f32, write

pytestmark = pytest.mark.engine
RANDOM = np.random.default_rng(8)
WIDTH, UNITS = 128, 6


class Weights:
    """Random weights, and the model that multiplies ``rows`` rows by them."""

    def __init__(self, size: int = 32, bits: int = 4) -> None:
        self.size, self.bits = size, bits
        self.packed = pack_bits(RANDOM.integers(0, 1 << bits, (UNITS, WIDTH // size, size)).astype(np.uint8), bits)
        self.scales = RANDOM.uniform(0.01, 0.1, (UNITS, WIDTH // size)).astype(np.float32)
        self.zero_points: Array | None = None
        self.bias: Array | None = None

    def model(self, rows: int, *, permits: bool = True) -> Model:
        b = Builder()
        b.model.permit_dynamic_range(permits)
        points = self.zero_points
        stored = [each if each is None else b.constant(each, _bytes(each)) for each in (self.packed, points)]
        numbers = stored[0], self.scales, stored[1], self.bias, self.bits, self.size
        b.output(b.blockwise_fully_connected(b.input(tensor("float32", (rows, WIDTH))), *numbers))
        return b.finish()

    def floats(self) -> Array:
        return unpack_weights(self.packed, self.scales, self.zero_points, self.bits, self.size)


def _bytes(array: Array) -> Any:
    return tensor("quant8_asymm", array.shape, 1.0, 0)


def types_of(model: Model) -> list[str]:
    """Return the type of the weights of each operator."""
    return [operator.input(1).type for operator in lower_model(model, None).graph.operators]


def bound_errors(x: Array, weights: Array) -> Array:
    """Return the largest errors that the documentation declares: of inputs by rows, and of rounded scales."""
    reach = np.maximum(x.max(1), 0) - np.minimum(x.min(1), 0)
    bound: Array = reach[:, np.newaxis] / 250 * np.abs(weights).sum(1) + np.abs(x) @ np.abs(weights).T / 450
    return bound


@pytest.mark.parametrize("size", [32, 64, 128])
@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("has_bias", [False, True])
def test_packed_weights_give_the_declared_error(rows: int, size: int, has_bias: bool) -> None:
    weights = Weights(size)
    weights.bias = RANDOM.normal(size=UNITS).astype(np.float32) if has_bias else None
    if has_bias:
        weights.zero_points = np.full((UNITS, -(-WIDTH // size // 2)), 0x88, np.uint8)
    model = weights.model(rows)
    assert types_of(model) == ["i4"]
    x = RANDOM.normal(size=(rows, WIDTH)).astype(np.float32)
    (expected,), (found,) = (run_on(model, device, x) for device in ("nnapi-reference", "xnnpack-cpu"))
    difference = np.abs(found - expected)
    assert (difference <= bound_errors(x, weights.floats())).all()
    assert difference.any()  # the rows were quantized


def _with(**changes: Any) -> Weights:
    weights = Weights(**{name: changes.pop(name) for name in ("size", "bits") if name in changes})
    for name, value in changes.items():
        setattr(weights, name, value)
    return weights


@pytest.mark.parametrize(
    "weights",
    [
        _with(size=16),
        _with(bits=8),
        _with(zero_points=np.full((UNITS, 2), 0x78, np.uint8)),
        _with(scales=np.full((UNITS, 4), -0.5, np.float32)),
        _with(scales=np.full((UNITS, 4), 1e-6, np.float32)),
        _with(scales=np.full((UNITS, 4), 1e6, np.float32)),
    ],
)
def test_other_weights_become_floats(weights: Weights) -> None:
    assert types_of(weights.model(2)) == ["f32"]


def test_rows_stay_floats_unless_the_model_permits_otherwise() -> None:
    weights = Weights()
    model = weights.model(3, permits=False)
    assert types_of(model) == ["f32"]
    x = RANDOM.normal(size=(3, WIDTH)).astype(np.float32)
    np.testing.assert_allclose(run_on(model, "xnnpack-cpu", x)[0], x @ weights.floats().T, 1e-4, 1e-5)


def test_the_file_names_the_scales_and_the_size_of_blocks() -> None:
    graph = lower_model(Weights(64).model(1), None).graph
    subgraph = File(memoryview(serialize(graph))).subgraph(0)
    (operator,) = subgraph.operators
    matrix = subgraph.tensors[operator.inputs[1]]
    assert (matrix.type, matrix.shape) == ("INT4", (UNITS, WIDTH))
    assert matrix.blocks is not None
    assert (matrix.blocks.size, matrix.blocks.zero_points) == (64, -1)
    scales = subgraph.tensors[matrix.blocks.scales]
    assert (scales.type, scales.shape) == ("FLOAT16", (UNITS, 2))


def test_a_file_with_such_weights_is_computed_as_the_option_says(tmp_path: Path) -> None:
    data = RANDOM.integers(0, 256, UNITS * WIDTH // 2).astype(np.uint8)
    weights, x, y = T("INT4", (UNITS, WIDTH), data=data, name="w", blocks=(3, -1, 32)), f32(1, WIDTH), f32(1, UNITS)
    graph = Graph().operator("FULLY_CONNECTED", [x, weights], [y], "FullyConnectedOptions").between([x], [y])
    graph.add(T("FLOAT16", (UNITS, WIDTH // 32), data=np.full((UNITS, WIDTH // 32), 0.05)))
    (tmp_path / "blocks.tflite").write_bytes(write(graph))
    assert types_of(nnapi.load(tmp_path / "blocks.tflite")) == ["f32"]
    assert types_of(nnapi.load(tmp_path / "blocks.tflite", weights="dynamic-range")) == ["i4"]
