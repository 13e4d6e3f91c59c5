"""Limits of LiteRT's integers and of filters: the largest that is taken, and the smallest that is refused."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.litert import lstm_cells
from nnapi.drivers.litert.rules.convolution_filters import quantize_filter
from nnapi.drivers.litert.rules.recurrent_lstm import _largest, _need_exact, _need_exact_state, _need_held
from nnapi.drivers.litert.unsigned_values import UnsignedTensors, can_be_unsigned, supports_unsigned
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.lowering.refusal import Unsupported
from nnapi.model.operand import tensor
from nnapi.ops.lstm_parameters import Cell
from nnapi.ops.quantized_lstm import GATE_SCALE
from tests.single import scalar, single


@pytest.mark.parametrize(
    ("largest", "factor", "is_held"),
    [
        (2.0**31 - 1, 2.0**-40, True),
        (2.0**31 - 1, 0.5, True),
        (2.0**31, 0.5, False),
        (2.0**31 - 1, 0.99, True),
        (2.0**30 - 1, 1.0, True),
        (2.0**30, 1.0, False),
        (2.0**29 - 1, 3.0, True),
        (2.0**29, 3.0, False),
    ],
)
def test_integers_that_are_shifted_for_scaling(largest: float, factor: float, is_held: bool) -> None:
    if is_held:
        _need_held("a sum", largest, factor)
    else:
        with pytest.raises(Unsupported, match="a sum may overflow"):
            _need_held("a sum", largest, factor)


def test_the_largest_sum_of_a_row() -> None:
    weights = Tensor("i8", (2, 2), 0.5, data=np.array([[1, -128], [100, 3]], np.int8))
    assert _largest(weights, None) == 129 * 255
    bias = Tensor("i32", (2,), 0.5, data=np.array([-10, -(2**31)], np.int32))
    assert _largest(weights, bias) == 103 * 255 + 2**31


@pytest.mark.parametrize(
    ("input", "weights", "scale", "exact"),
    [(2.0, 2.0**20, 0.5, True), (4.0, 2.0**20, 0.5, False), (2.0, 2.0**21, 0.5, False), (2.0, 2.0**20, 0.25, False)],
)
@pytest.mark.parametrize("role", ["input", "recurrent"])
def test_sums_of_a_gate_are_scaled_by_their_units(
    role: str, input: float, weights: float, scale: float, exact: bool
) -> None:
    """255, shifted by 23 bits at most."""
    matrices: dict[str, dict[str, Tensor]] = {"input": {}, "recurrent": {}}
    matrices[role] = {"cell": Tensor("i8", (1, 1), weights, data=np.ones((1, 1), np.int8))}
    found = Cell(matrices["input"], matrices["recurrent"], {}, {}, {}, {"cell": wide(0, type="i32")}, None, None)
    given, other = Tensor("i8", (1, 1), input), Tensor("i8", (1, 1), 2.0**-20)
    context: Any = SimpleNamespace(find=lambda look, *tensors: look(*tensors))
    pair = (given, other) if role == "input" else (other, given)
    if exact:
        _need_exact(context, found, "cell", *pair, scale)
    else:
        with pytest.raises(Unsupported, match="sums of the cell gate may overflow"):
            _need_exact(context, found, "cell", *pair, scale)


def wide(*values: int, scale: float = GATE_SCALE, type: str = "i16") -> Tensor:
    return Tensor(type, (len(values),), scale, data=np.array(values))


def cell(peephole: Tensor | None = None) -> Cell[Tensor]:
    biases = {"cell": wide(0, type="i32")}
    return Cell({}, {}, {}, {} if peephole is None else {"cell": peephole}, {}, biases, None, None)


def is_exact(found: Cell[Tensor], state: float = 1.0, scale: float = 1.0) -> bool:
    try:
        _need_exact_state(found, "cell", Tensor("i16", (1, 2), state), scale)
    except Unsupported:
        return False
    return True


@pytest.mark.parametrize(
    ("most", "factor", "exact"),
    [(32767, 1.0, True), (-32768, 1.0, False), (-32768, 0.5, True), (16384, 2.0, False), (16383, 2.0, True)],
)
def test_a_peephole_is_times_the_largest_state(most: int, factor: float, exact: bool) -> None:
    peephole = wide(5, most, scale=0.25)
    assert is_exact(cell(peephole=peephole), state=4 * factor) == exact
    assert is_exact(cell(peephole=peephole), state=factor, scale=0.25) == exact


def test_a_gate_without_a_peephole_is_exact() -> None:
    assert is_exact(cell())


# Cells that are decomposed


def integer_cell(scale: float = 1 / 128, hidden: float = 1 / 128, point: int = 3, is_constant: bool = True) -> Operator:
    weights = Tensor("i8", (3, 2), 0.5, data=np.ones((3, 2), np.int8))
    inputs: list[Tensor | None] = [None] * 24
    inputs[0], inputs[18] = Tensor("i8", (1, 2), 0.5), Tensor("i8", (1, 3), scale)
    inputs[19] = Tensor("i16", (1, 3), 2.0**-11, data=np.zeros((1, 3), np.int16) if is_constant else None)
    for position in (*range(1, 9), *range(12, 16)):
        inputs[position] = weights
    between = [*(Tensor("i16", (), 1.0) for _ in range(4)), Tensor("i8", (), hidden, point)]
    return Operator("LSTM", inputs, [Tensor("i8", (1, 3), scale, 3)], {}, between)


@pytest.mark.parametrize(
    ("found", "state_is_read", "rounds_states", "is_plain"),
    [
        (integer_cell(), False, False, True),
        (integer_cell(), True, False, False),
        (integer_cell(), True, True, True),
        (integer_cell(is_constant=False), False, False, False),
        (integer_cell(is_constant=False), False, True, True),
        (integer_cell(hidden=1 / 127), False, True, False),
        (integer_cell(point=4), False, True, False),
        (integer_cell(scale=1 / 256, hidden=1 / 256), False, True, True),
        (integer_cell(scale=1 / 257, hidden=1 / 257), False, True, False),
        (integer_cell(hidden=float(np.float32(1 / 128)) * (1 + 1e-9)), False, True, True),
    ],
)
def test_cells_of_integers_are_decomposed_where_nothing_depends_on_their_roundings(
    found: Operator, state_is_read: bool, rounds_states: bool, is_plain: bool
) -> None:
    assert lstm_cells.is_plain(found, state_is_read, rounds_states) == is_plain


def test_by_default_states_are_not_rounded() -> None:
    assert not lstm_cells.is_plain(integer_cell(is_constant=False), False)


# Unsigned values


SCALES = np.array([0.5, 0.5], np.float32)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Tensor("i8", (2,), 0.25, -3), ("u8", 0.25, 125, 0)),
        (Tensor("i8", (2, 3), SCALES, 0, 1), ("u8", 0.5, 128, 0)),
        (Tensor("i32", (2,), SCALES), ("i32", 0.5, 0, 0)),
        (Tensor("u8", (2, 3), 0.25, 7, 1), ("u8", 0.25, 7, 0)),
    ],
)
def test_unsigned_tensors_have_one_scale_and_no_axis(source: Tensor, expected: tuple[Any, ...]) -> None:
    unsigned = UnsignedTensors()
    found = unsigned(source)
    assert (found.type, found.scale, found.zero_point, found.axis) == expected
    assert found.shape == source.shape
    assert unsigned(source) is found


@pytest.mark.parametrize("source", [Tensor("f32", (2,)), Tensor("i32", (2,), 0.5), Tensor("u8", (2,), 0.5, 9)])
def test_other_tensors_stay(source: Tensor) -> None:
    assert UnsignedTensors()(source) is source


def test_unsigned_constants_keep_their_meaning() -> None:
    source = Tensor("i8", (3,), 0.25, -3, data=np.array([-128, 0, 127], np.int8))
    assert UnsignedTensors()(source).value.tolist() == [0, 128, 255]
    bias = Tensor("i32", (2,), SCALES, data=np.array([5, -6], np.int32))
    assert UnsignedTensors()(bias).value.tolist() == [5, -6]


@pytest.mark.parametrize(
    ("x", "y", "flipped", "possible"),
    [
        ("i8", "i8", (True, True), True),
        ("i8", "i8", (True, False), False),
        ("i8", "i8", (False, True), False),
        ("i8", "f32", (True, False), True),
        ("f32", "f32", (False, False), True),
    ],
)
def test_inputs_and_outputs_decide_whether_values_may_be_unsigned(
    x: str, y: str, flipped: tuple[bool, bool], possible: bool
) -> None:
    ends = Tensor(x, (2,), 0.5), Tensor(y, (2,), 0.5)
    assert can_be_unsigned(Graph([], [ends[0]], [ends[1]], flipped)) == possible


def test_an_operator_without_signed_values_may_be_of_any_kind() -> None:
    assert supports_unsigned(Operator("GATHER", [Tensor("f32", (2,)), None], [Tensor("f32", (2,))]))
    assert not supports_unsigned(Operator("GATHER", [Tensor("i8", (2,), 0.5), None], [Tensor("i8", (2,), 0.5)]))


# Filters


def find_reason(scales: tuple[float, float, float], constant: bool = True, depth: int = 1) -> str:
    """The reason against a convolution of one pixel with those scales of input, filter and output."""
    x, w, y = (tensor("int8", (1, 1, 1, depth), scale, 0) for scale in scales)
    values = np.ones((1, 1, 1, depth), np.int8)
    bias = tensor("int32", (1,), float(np.float32(scales[0] * scales[1]))), np.zeros(1, np.int32)
    inputs = [(x, values), (w, values), bias, *(scalar(OperandCode.INT32, each) for each in (2, 1, 1, 0))]
    lowered = lower_model(single(Op.CONV_2D, inputs, [y.with_dimensions((1, 1, 1, 1))], constant=constant))
    return lowered.verdicts[0].reason


@pytest.mark.parametrize(
    ("scales", "is_taken"),
    [
        ((255.0, 1.0, 1.0), True),
        ((256.0, 1.0, 1.0), False),
        ((1.0, 128.0, 0.5), False),
        ((2.0**-30, 2.0**-30, 1.0), True),
        ((2.0**-31, 2.0**-30, 1.0), False),
        ((2.0**-31, 2.0**-30, 0.5), True),
    ],
)
def test_factors_of_sums_of_products(scales: tuple[float, float, float], is_taken: bool) -> None:
    reason = find_reason(scales)
    assert is_taken == (not reason)
    assert is_taken or "sums of products would be multiplied by" in reason


@pytest.mark.parametrize(("out", "is_taken"), [(1.0, True), (0.99, False)])
def test_sums_of_computed_filters_stay_exact_in_float(out: float, is_taken: bool) -> None:
    """Of three products of at most 255² each, scaled by 5.375: 1,048,528 of 1,048,576 LSB."""
    reason = find_reason((1.0, 5.375, out), constant=False, depth=3)
    assert is_taken == (not reason)
    assert is_taken or "filter is computed, and sums may reach 1059119 LSB" in reason


@pytest.mark.parametrize(
    ("kind", "zero_point", "values", "expected"),
    [
        ("uint8", 121, [0, 121, 248, 122], [-121, 0, 127, 1]),
        ("int8", -7, [-128, -7, 120, 0], [-121, 0, 127, 7]),
        ("int8", 5, [-122, 5, 127, 4], [-127, 0, 122, -1]),
    ],
)
def test_filters_that_fit_are_signed_differences_from_the_zero_point(
    kind: str, zero_point: int, values: list[int], expected: list[int]
) -> None:
    x, y, w = (
        tensor(kind, (1, 1, 1, 2), 0.5, 3),
        tensor(kind, (1, 1, 1, 2), 0.5, 3),
        tensor(kind, (2, 1, 1, 2), 0.25, zero_point),
    )
    bias = tensor("int32", (2,), 0.125), np.array([5, -6], np.int32)
    codes = np.array(values, w.dtype).reshape(w.dimensions)
    inputs = [
        (x, np.zeros(x.dimensions)),
        (w, codes),
        bias,
        *(scalar(OperandCode.INT32, each) for each in (2, 1, 1, 0)),
    ]
    (operator,) = lower_model(single(Op.CONV_2D, inputs, [y], constant=True)).graph.operators
    filter, offsets = operator.input(1), operator.input(2)
    assert filter.value.reshape(-1).tolist() == expected
    assert (filter.type, filter.zero_point, np.asarray(filter.scale).tolist()) == ("i8", 0, [0.25, 0.25])
    assert (offsets.value.tolist(), np.asarray(offsets.scale).tolist()) == ([5, -6], [0.125, 0.125])


def weights(scale: Any, zero_point: int = 0, axis: int = 0, is_constant: bool = True) -> Tensor:
    return Tensor("i8", (2, 3), scale, zero_point, axis, np.ones((2, 3), np.int8) if is_constant else None)


def several(*scales: float) -> Any:
    return np.array(scales, np.float32)


@pytest.mark.parametrize(
    ("behind", "channel", "scales"),
    [
        (weights(0.5), 0, [0.5, 0.5]),
        (weights(0.5), 1, None),
        (weights(several(0.5, 2)), 0, [0.5, 2]),
        (weights(several(0.5, 2, 4), axis=1), 1, [0.5, 2, 4]),
        (weights(several(0.5, 2)), 1, None),
        (weights(several(2.0**-40, 2.0**40)), 0, [2.0**-40, 2.0**40]),
        (weights(several(2.0**-41, 1)), 0, None),
        (weights(several(1, 2.0**41)), 0, None),
        (weights(0.5, zero_point=1), 0, None),
        (weights(0.5, is_constant=False), 0, None),
        (None, 0, None),
    ],
)
def test_quantized_weights_behind_float_ones(behind: Tensor | None, channel: int, scales: list[float] | None) -> None:
    context: Any = SimpleNamespace(find_quantized=lambda name: behind, find=lambda look, *tensors: look(*tensors))
    found = quantize_filter(context, "weights", channel)
    assert (None if found is None else np.asarray(found.scale).tolist()) == scales
    assert found is None or found.value.tolist() == [[1, 1, 1], [1, 1, 1]]
