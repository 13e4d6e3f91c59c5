"""Normalizations of ONNX on every rank, with and without their defaults."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.importers.onnx.operator_cases import X, chain, compare, computed, loaded, made, reference, single, step  # noqa: E402

SMALL = X / 100
"""Values whose variance is near epsilon."""
S, B, M, V = (np.array(row, np.float32) for row in ([2, -1, 0.5], [0.1, 0.2, -0.3], [0, 0.01, -0.02], [1e-4, 2e-5, 1]))
ROW, ROWS = np.array([2, -1, 0.5, 3, -4], np.float32), np.linspace(-2, 3, 20, dtype=np.float32).reshape(4, 5)
FIVE = SMALL.reshape(2, 3, 2, 2, 5)

CASES: list[tuple[str, str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("BatchNormalization", "TRANSPOSE MUL ADD TRANSPOSE", SMALL, (S, B, M, V), {}),
    ("BatchNormalization", "TRANSPOSE MUL ADD TRANSPOSE", SMALL, (S, B, M, V), {"epsilon": 0.1}),
    ("BatchNormalization", "RESHAPE TRANSPOSE MUL ADD TRANSPOSE RESHAPE", SMALL[:, :, 0], (S, B, M, V), {}),
    ("BatchNormalization", "MUL ADD", SMALL[:, :, 0, 0], (S, B, M, V), {}),
    ("InstanceNormalization", "TRANSPOSE INSTANCE_NORMALIZATION MUL ADD TRANSPOSE", SMALL, (S, B), {}),
    ("InstanceNormalization", "TRANSPOSE INSTANCE_NORMALIZATION MUL ADD TRANSPOSE", SMALL, (S, B), {"epsilon": 0.1}),
    ("Softmax", "SOFTMAX", X, (), {}),
    ("Softmax", "SOFTMAX", X, (), {"axis": 1}),
    ("Softmax", "SOFTMAX", X, (), {"axis": -4}),
    ("LogSoftmax", "LOG_SOFTMAX", X, (), {}),
    ("LogSoftmax", "LOG_SOFTMAX", X, (), {"axis": 2}),
    ("Hardmax", "ARGMAX RESHAPE EQUAL SELECT", X, (), {}),
    ("Hardmax", "ARGMAX RESHAPE EQUAL SELECT", X, (), {"axis": 1}),
]


@pytest.mark.parametrize(("kind", "operations", "x", "constants", "options"), CASES)
def test_values_are_normalized_as_in_the_reference(
    kind: str, operations: str, x: Any, constants: Any, options: Any
) -> None:
    compare(single(kind, x, *constants, **options), x, operations, 1e-4)


@pytest.mark.parametrize("computed_input", [1, 2, 3, 4])
def test_any_parameter_of_a_batch_normalization_may_be_computed(computed_input: int) -> None:
    names = ["x", "s", "b", "m", "v"]
    constants = dict(zip(names[1:], (S, B, M, V), strict=True))
    del constants[names[computed_input]]
    nodes = [
        helper.make_node("ReduceMax", ["x"], [names[computed_input]], axes=[0, 2, 3], keepdims=0),
        helper.make_node("BatchNormalization", names, ["y"], epsilon=0.001),
    ]
    content = made(nodes, constants, SMALL)
    np.testing.assert_allclose(computed(nnapi.load(content), SMALL), reference(content, SMALL), 1e-4)


@pytest.mark.parametrize("x", [SMALL[..., None], SMALL.reshape(2, 3, 2, 2, 5)])
def test_batches_of_rank_5_are_normalized_by_channel(x: Any) -> None:
    flat, back = step("Reshape", np.array([-1])), step("Reshape", np.array(x.shape))
    content = chain(x.reshape(-1), back, step("BatchNormalization", S, B, M, V), flat)
    expected = (SMALL - M[:, None, None]) / np.sqrt(V + np.float32(1e-5))[:, None, None] * S[:, None, None]
    compare(content, x.reshape(-1), "RESHAPE MUL ADD RESHAPE", 1e-4, (expected + B[:, None, None]).reshape(-1))


@pytest.mark.parametrize(
    ("size", "options", "constants"),
    [(3, {}, (1e-4, 0.75, 1.0)), (5, {"alpha": 0.25, "beta": 0.5, "bias": 2.0}, (0.25, 0.5, 2.0))],
)
def test_a_response_is_divided_by_those_of_the_channels_around_it(size: int, options: Any, constants: Any) -> None:
    alpha, beta, bias = constants
    x = 20 * X[:, [0, 1, 2, 0, 1, 2, 2]]
    rows = [slice(max(c - size // 2, 0), c + size // 2 + 1) for c in range(7)]
    sums = np.stack([(x[:, row] ** 2).sum(1) for row in rows], 1)
    content = single("LRN", x, size=size, **options)
    operations = "TRANSPOSE LOCAL_RESPONSE_NORMALIZATION TRANSPOSE"
    compare(content, x, operations, 1e-4, x / (bias + alpha / size * sums) ** beta)


@pytest.mark.parametrize(("p", "axis"), [(None, None), (1, 1), (2, 0), (1, -2)])
def test_lengths_become_1_unless_they_are_0(p: int | None, axis: int | None) -> None:
    x = X.copy()
    x[:, :, 0, 0] = x[0, 0, :, 1] = 0
    x[:, 1, :, 2] = x[0, :, 2, 3] = x[1, 2, 3] = 0
    options = {name: value for name, value in (("p", p), ("axis", axis)) if value is not None}
    axis = -1 if axis is None else axis
    length = abs(x).sum(axis, keepdims=True) if p == 1 else np.sqrt((x * x).sum(axis, keepdims=True))
    assert (length == 0).any()
    operations = "ABS REDUCE_SUM" if p == 1 else "MUL REDUCE_SUM SQRT"
    expected = x / np.where(length == 0, 1, length)
    compare(single("LpNormalization", x, **options), x, f"{operations} EQUAL SELECT DIV", 1e-5, expected)


def soft(x: Any, axis: Any) -> Any:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize(("axis", "last"), [(None, 1), (0, 0), (2, 2), (-1, 3)])
def test_before_opset_13_all_axes_from_one_on_are_normalized_together(axis: int | None, last: int) -> None:
    options = {} if axis is None else {"axis": axis}
    expected = soft(X, tuple(range(last, 4)))
    compare(single("Softmax", X, opset=12, **options), X, "RESHAPE SOFTMAX RESHAPE", 1e-5, expected)
    logarithms = single("LogSoftmax", X, opset=11, **options)
    compare(logarithms, X, "RESHAPE LOG_SOFTMAX RESHAPE", 1e-4, np.log(expected))


@pytest.mark.parametrize("axis", [1, 4])
def test_one_of_five_axes_is_normalized(axis: int) -> None:
    x = X.reshape(2, 3, 2, 2, 5)
    flat, back = step("Reshape", np.array([-1])), step("Reshape", np.array(x.shape))
    content = chain(x.reshape(-1), back, step("Softmax", axis=axis), flat)
    operations = "RESHAPE SOFTMAX RESHAPE"
    compare(content, x.reshape(-1), operations, 1e-5, soft(x, axis).reshape(-1))


LAYERS: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], int]] = [
    ("LayerNormalization", SMALL, (ROW,), {}, 17),
    ("LayerNormalization", SMALL, (ROW, ROW[::-1]), {"epsilon": 0.01}, 17),
    ("LayerNormalization", SMALL, (ROWS, -ROWS), {"axis": 2}, 17),
    ("LayerNormalization", SMALL, (ROWS, ROWS[0]), {"axis": -2}, 17),
    ("LayerNormalization", SMALL, (ROW[:1],), {"axis": 1}, 17),
    ("LayerNormalization", SMALL, (ROW,), {}, 11),
    ("RMSNormalization", SMALL, (ROW,), {}, 23),
    ("RMSNormalization", SMALL, (ROWS,), {"axis": 2, "epsilon": 0.5}, 23),
    ("SimplifiedLayerNormalization", SMALL, (ROW,), {}, 17),
    ("SimplifiedLayerNormalization", SMALL, (ROWS, ROW), {"axis": 2, "epsilon": 0.5}, 17),
]


@pytest.mark.parametrize(("kind", "x", "constants", "options", "opset"), LAYERS)
def test_layers_are_normalized_with_their_statistics(
    kind: str, x: Any, constants: Any, options: Any, opset: int
) -> None:
    """Each of the results alone: the values, the mean, the inverse deviation."""
    is_layer = kind == "LayerNormalization"
    axes = tuple(range(options.get("axis", -1) % 4, 4))
    mean = x.mean(axes, keepdims=True) if is_layer else np.zeros((1, 1, 1, 1), np.float32)
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + options.get("epsilon", 1e-5))
    scale, *bias = constants
    results = [(x - mean) * inverse * scale + sum(bias), *([mean] if is_layer else []), inverse]
    given = {f"c{i}": array for i, array in enumerate(constants)}
    for i, expected in enumerate(results):
        nodes = [helper.make_node(kind, ["x", *given], [*[""] * i, "y"], **options)]
        found = computed(loaded(nodes, given, opset, x), x)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, 2e-4, 1e-6)


@pytest.mark.parametrize("axis", [-1, 3])
def test_layers_of_five_axes_are_normalized(axis: int) -> None:
    x = X.reshape(2, 3, 2, 2, 5)
    scale = ROW if axis == -1 else ROWS[:2]
    flat, back = step("Reshape", np.array([-1])), step("Reshape", np.array(x.shape))
    content = chain(x.reshape(-1), back, step("LayerNormalization", scale, axis=axis), flat)
    expected = reference(single("LayerNormalization", x, scale, axis=axis), x).reshape(-1)
    np.testing.assert_allclose(computed(nnapi.load(content), x.reshape(-1)), expected, 1e-4, 1e-5)


def test_lengths_of_three_axes() -> None:
    x = X[:, :, 0]
    expected = x / np.sqrt((x * x).sum(1, keepdims=True))
    operations = "MUL REDUCE_SUM SQRT EQUAL SELECT DIV"
    compare(single("LpNormalization", x, axis=1), x, operations, 1e-5, expected)


@pytest.mark.parametrize(("axes", "axis"), [([0, 1, 2], 3), ([0, 1], 2), ([0, 1, 2, 3], 2)])
def test_a_computed_scale_has_the_normalized_axes_or_one_element(axes: list[int], axis: int) -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["s"], axes=axes, keepdims=0),
        helper.make_node("LayerNormalization", ["x", "s"], ["y"], axis=axis),
    ]
    content = made(nodes, {}, X)
    np.testing.assert_allclose(computed(nnapi.load(content)), reference(content, X), 1e-4, 1e-5)


REFUSED: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], str]] = [
    ("BatchNormalization", X, (S, B, M, V), {"training_mode": 1}, "NNAPI has no training"),
    ("InstanceNormalization", X[:, :, 0, 0], (S, B), {}, "NNAPI has it for images, the input is of rank 2"),
    ("InstanceNormalization", X[..., None, None], (S, B), {}, "NNAPI has it for images, the input is of rank 6"),
    ("LRN", X, (), {"size": 4}, "it adds up 4 channels"),
    ("LpNormalization", X, (), {"p": 3}, "its p is 3, its rank 4"),
    ("LpNormalization", X[..., None, None, None], (), {}, "its p is 2, its rank 7"),
    ("LayerNormalization", (10 * X).astype(np.int32), (ROW,), {}, "NNAPI normalizes floats only"),
]


@pytest.mark.parametrize(("kind", "x", "constants", "options", "reason"), REFUSED)
def test_other_normalizations_are_refused(kind: str, x: Any, constants: Any, options: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, *constants, **options))


def test_scales_of_other_axes_and_learned_statistics_are_refused() -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["s"], axes=[0, 1], keepdims=0),
        helper.make_node("LayerNormalization", ["x", "s"], ["y"]),
    ]
    with pytest.raises(BadDataError, match="its scale has other axes than the normalized ones"):
        loaded(nodes)
    learning = helper.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y", "mean"])
    with pytest.raises(BadDataError, match="NNAPI has no training"):
        loaded([learning], {"s": S, "b": B, "m": M, "v": V}, opset=9)
