"""Convolutions and pooling of volumes beside ONNX's own reference, alone and in a network."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi
from tests.engines import DEVICES, find_device
from tests.importers.onnx.operator_cases import chain, computed, reference, single, step

RANDOM = np.random.default_rng(6)
V = RANDOM.uniform(-2, 2, (2, 4, 5, 6, 7)).astype(np.float32)


def real(*shape: int) -> Any:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


BIAS, WHOLE, PART, EACH = real(6), real(6, 4, 3, 2, 3), real(6, 2, 2, 3, 2), real(4, 1, 3, 3, 3)
INTO = real(4, 3, 2, 3, 2)
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any], str]] = [
    ("Conv", (WHOLE,), {}, "CONV_3D"),
    ("Conv", (WHOLE, BIAS), {"strides": [1, 2, 3], "pads": [1, 0, 2, 0, 1, 1]}, "CONV_3D"),
    ("Conv", (PART, BIAS), {"group": 2, "dilations": [2, 1, 2]}, "CONV_3D"),
    ("Conv", (WHOLE,), {"pads": [3, 0, 1, 0, 2, 4]}, "PAD"),
    ("Conv", (EACH,), {"group": 4, "auto_pad": "SAME_UPPER", "strides": [2, 2, 2]}, "CONV_3D"),
    ("ConvTranspose", (INTO,), {}, "TRANSPOSE_CONV_3D"),
    ("ConvTranspose", (INTO, real(3)), {"strides": [2, 1, 3], "pads": [1, 0, 1, 0, 1, 0]}, "TRANSPOSE_CONV_3D"),
    ("ConvTranspose", (INTO,), {"strides": [2, 2, 2], "output_padding": [1, 0, 1]}, "TRANSPOSE_CONV_3D"),
    ("ConvTranspose", (INTO,), {"dilations": [2, 1, 2]}, "TRANSPOSE_CONV_3D"),
    ("MaxPool", (), {"kernel_shape": [2, 3, 2]}, "MAX_POOL_3D"),
    ("MaxPool", (), {"kernel_shape": [2, 3, 2], "strides": [2, 1, 3], "pads": [1, 1, 0, 0, 1, 1]}, "MAX_POOL_3D"),
    ("MaxPool", (), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2], "ceil_mode": 1}, "MAX_POOL_3D"),
    ("MaxPool", (), {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3]}, "MAXIMUM"),
    (
        "AveragePool",
        (),
        {"kernel_shape": [3, 2, 2], "strides": [1, 2, 2], "pads": [1, 0, 1, 1, 1, 0]},
        "AVERAGE_POOL_3D",
    ),
    ("AveragePool", (), {"kernel_shape": [3, 2, 2], "pads": [1, 0, 1, 1, 1, 0], "count_include_pad": 1}, "PAD"),
    ("AveragePool", (), {"kernel_shape": [2, 2, 2], "dilations": [2, 1, 3], "pads": [1] * 6}, "MUL"),
    ("LpPool", (), {"kernel_shape": [2, 3, 2], "p": 2}, "AVERAGE_POOL_3D"),
    ("LpPool", (), {"kernel_shape": [2, 2, 2], "p": 2, "dilations": [1, 2, 1]}, "ADD"),
    ("GlobalAveragePool", (), {}, "MEAN"),
    ("Resize", (None, np.array([1, 1, 2, 2, 2], np.float32)), {"mode": "linear"}, "RESIZE_BILINEAR"),
    ("Resize", (None, np.array([1, 1, 1, 2, 3], np.float32)), {}, "RESIZE_NEAREST_NEIGHBOR"),
    ("Resize", (None, None, np.array([2, 4, 3, 7, 9])), {"mode": "cubic"}, "BATCH_MATMUL"),
    ("Resize", (None, None, np.array([2, 8, 5, 6, 7])), {}, "GATHER"),
    ("LpNormalization", (), {"axis": 2}, "REDUCE_SUM"),
    ("InstanceNormalization", (real(4), real(4)), {}, "INSTANCE_NORMALIZATION"),
    ("Sub", (real(2, 1, 5, 1, 7),), {}, "SUB"),
    ("Pad", (np.array([0, 1, 1, 0, 1, 0, 0, 2, 0, 1]),), {}, "PAD"),
    ("Tile", (np.array([2, 1, 2, 1, 2]),), {}, "TILE"),
    ("ReduceMean", (np.array([0, 2, 4]),), {}, "MEAN"),
    ("Mul", (real(4, 1, 6, 1),), {}, "MUL"),
]


@each_row(("kind", "constants", "options", "operation"), CASES)
def test_operators(kind: str, constants: Any, options: dict[str, Any], operation: str) -> None:
    content = single(kind, V, *constants, opset=20, **options)
    model, expected = nnapi.load(content), reference(content, V)
    assert operation in [call.name for call in model.operations]
    found = computed(model, V)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_groups_of_a_transposed_convolution() -> None:
    """ONNX's reference does not compute groups of volumes: it gives each group alone."""
    halves = [
        reference(single("ConvTranspose", V[:, :2], part, opset=20), V[:, :2] if i == 0 else V[:, 2:])
        for i, part in enumerate(np.split(INTO, 2))
    ]
    found = computed(nnapi.load(single("ConvTranspose", V, INTO, opset=20, group=2)), V)
    np.testing.assert_allclose(found, np.concatenate(halves, 1), 1e-5, 1e-5)


def test_a_global_maximum() -> None:
    found = computed(nnapi.load(single("GlobalMaxPool", V, opset=20)), V)
    np.testing.assert_array_equal(found, V.max((2, 3, 4), keepdims=True))


def network() -> bytes:
    """A convolution with BatchNormalization and Relu, a residual sum, a slice, a split, a concatenation, a mean."""
    parameters = [np.abs(real(6)) for _ in range(4)]
    steps = (
        step("Conv", WHOLE, pads=[1, 0, 1, 1, 1, 1]),
        step("BatchNormalization", *parameters),
        step("Relu"),
        step("Conv", real(6, 6, 1, 1, 1), BIAS),
        step("Add", "."),
        step("Mul", real(6, 1, 1, 1)),
        step("Concat", ".", axis=1),
        step("Slice", np.array([1, 2]), np.array([9, 5]), np.array([1, 4])),
        step("Pad", np.array([0, 0, 1, 0, 0, 0, 1, 0, 0, 0])),
        step("MaxPool", kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
        step("Transpose", perm=[0, 2, 1, 4, 3]),
        step("ReduceSum", np.array([2, 3]), keepdims=0),
    )
    return chain(V, *steps, opset=20)


@pytest.mark.parametrize("device", DEVICES)
def test_a_network(device: str) -> None:
    content = network()
    model = nnapi.load(content)
    names = [call.name for call in model.operations]
    assert names[:5] == ["TRANSPOSE", "CONV_3D", "RELU", "CONV_3D", "ADD"]  # normalization is folded into the filter
    with nnapi.compile(model, list({find_device(device), nnapi.device("nnapi-reference")}), cache=False) as compiled:
        found = compiled.run(V)[0]
    np.testing.assert_allclose(found, reference(content, V), 1e-4, 1e-4)
