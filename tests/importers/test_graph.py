"""The graph that importers build: constants, conversions, the quantization that an operation fixes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.importers.graph import MADE_UP_PER_BYTE, Allowance, Graph, Value, _passes, _same_quantization, real_numbers
from nnapi.importers.refusals import Refused
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY


def quantized(scale: float, zero_point: int = 3) -> OperandType:
    return OperandType(OperandCode.TENSOR_QUANT8_ASYMM, (2,), scale, zero_point)


@pytest.mark.parametrize("scale", [0.5, 0.5 * (1 + 1e-7), 0.5 * (1 - 1e-7)])
def test_a_scale_that_differs_by_rounding_becomes_the_fixed_one(scale: float) -> None:
    assert _same_quantization(quantized(scale), 0.5, 3) == quantized(0.5)


@pytest.mark.parametrize(("scale", "zero_point"), [(0.625, 3), (0.375, 3), (0.5, 2), (0.5, 4), (0.625, 4)])
def test_another_quantization_than_the_fixed_one_is_refused(scale: float, zero_point: int) -> None:
    said = f"gives scale 0.5 and zero point 3, the file wants {scale:.9g} and {zero_point}"
    with pytest.raises(BadDataError, match=said):
        _same_quantization(quantized(scale, zero_point), 0.5, 3)


def test_an_allowance_grants_its_bytes_once() -> None:
    allowance = Allowance(0, 100)
    assert [allowance.grants(count) for count in (60, 41, 40, 1, 0)] == [True, False, True, False, True]


@pytest.mark.parametrize(
    ("code", "array", "passes"),
    [
        (OperationCode.TRANSPOSE, [1], True),
        (OperationCode.TRANSPOSE, None, False),  # computed: its dimensions are not the file's
        (OperationCode.ABS, [1], False),
        (OperationCode.ABS, None, False),
    ],
)
def test_dynamic_dimensions_pass_through_what_moves_known_values(code: int, array: Any, passes: bool) -> None:
    given, result = SimpleNamespace(is_dynamic_shape=True), SimpleNamespace(array=array)
    match = SimpleNamespace(inputs={"input": (0,)})
    assert _passes(REGISTRY[code], match, [given], [result]) == passes  # type: ignore[arg-type,list-item]


FLOAT32, INT32, BOOL8 = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32, OperandCode.TENSOR_BOOL8
QUANT8, SIGNED = OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED


def made(count: int = 10**6) -> Graph:
    return Graph(Allowance(0, count))


def names(graph: Graph) -> str:
    return " ".join(step.code.name for step in graph.steps)


def computed(code: OperandCode, *shape: int, scale: float = 0.0, zero_point: int = 0) -> Value:
    return Value(OperandType(code, shape, scale, zero_point), "x")


def test_a_larger_file_may_make_more_constants() -> None:
    assert MADE_UP_PER_BYTE == 8
    assert Allowance(10, 100).left == 180


@pytest.mark.parametrize(
    ("value", "is_known", "is_quantized", "is_float"),
    [
        (computed(FLOAT32, 2, 3), True, False, True),
        (computed(FLOAT32, 2, 0), False, False, True),
        (computed(FLOAT32), False, False, True),
        (computed(OperandCode.TENSOR_FLOAT16, 2), True, False, True),
        (computed(OperandCode.FLOAT32), True, False, False),
        (computed(INT32, 2), True, False, False),
        (computed(INT32, 2, scale=0.5), True, True, False),
        (computed(QUANT8, 2, scale=0.5), True, True, False),
        (Value(OperandType(FLOAT32), "", omitted=True), True, False, True),
        (Value(OperandType(FLOAT32, (0,)), "", omitted=True), True, False, True),
        (Value(OperandType(FLOAT32, (0,)), "", np.ones(1)), True, False, True),
        (Value(OperandType(FLOAT32, (0,)), "", np.ones(0)), True, False, True),
    ],
)
def test_what_is_known_of_a_value(value: Value, is_known: bool, is_quantized: bool, is_float: bool) -> None:
    assert (value.is_known, value.is_quantized, value.is_float) == (is_known, is_quantized, is_float)


@pytest.mark.parametrize(
    ("dtype", "code"),
    [
        (np.float32, FLOAT32),
        (np.float16, OperandCode.TENSOR_FLOAT16),
        (np.int32, INT32),
        (np.bool_, BOOL8),
        (np.uint8, BOOL8),
    ],
)
def test_the_type_of_a_constant_follows_from_its_array(dtype: Any, code: OperandCode) -> None:
    value = made().constant(np.array([[1, 0, 1]], dtype))
    assert value.type == OperandType(code, (1, 3))
    assert value.constant.tolist() == [[1, 0, 1]]
    assert not value.constant.flags.writeable


def test_constants_take_their_bytes_from_the_allowance() -> None:
    graph = made(24)
    assert graph.full(OperandType(FLOAT32, (2, 3)), 1.5).constant.tolist() == [[1.5] * 3] * 2
    with pytest.raises(Refused, match="it would take 4 bytes of constants that are not in the file"):
        graph.full(OperandType(FLOAT32, (1,)))
    with pytest.raises(Refused, match=r"rows has dynamic dimensions \[0, 2\]"):
        graph.full(OperandType(FLOAT32, (0, 2)), name="rows")


def test_equal_scalars_are_one_value_and_omitted_ones_have_a_valid_scale() -> None:
    graph = made()
    assert graph.scalar(OperandCode.INT32, 3) is graph.scalar(OperandCode.INT32, 3)
    assert graph.scalar(OperandCode.INT32, 3) is not graph.scalar(OperandCode.INT32, 4)
    assert [graph.no_value(code).type.scale for code in (FLOAT32, QUANT8, SIGNED)] == [0, 1, 1]
    assert graph.no_value().omitted


def test_a_value_is_dequantized_once() -> None:
    graph, value = made(), computed(QUANT8, 2, scale=0.5, zero_point=3)
    assert graph.real(value) is graph.real(value)
    assert names(graph) == "DEQUANTIZE"
    plain = computed(FLOAT32, 2)
    assert graph.real(plain) is plain
    assert graph.real_at_run(value) is graph.real_at_run(value)
    assert names(graph) == "DEQUANTIZE DEQUANTIZE"


def test_quantized_constants_become_floats_within_the_allowance() -> None:
    value = Value(OperandType(QUANT8, (3,), 0.5, 3), "x", np.array([3, 5, 0], np.uint8))
    assert made(12).real(value).constant.tolist() == [0, 1, -1.5]
    with pytest.raises(Refused, match="it would take 12 bytes"):
        made(11).real(value)
    bias = OperandType(INT32, (2,), 0.25)
    assert real_numbers(bias, np.array([3, -8], np.int32)).tolist() == [0.75, -2]


def test_a_constant_is_widened_into_one_of_its_shape() -> None:
    graph = made(8)
    half = Value(OperandType(OperandCode.TENSOR_FLOAT16, (2,)), "x", np.array([1.5, -2], np.float16))
    other, target = computed(FLOAT32, 1, 2), computed(FLOAT32, 2)
    assert not graph.widen(half, other)
    assert not graph.widen(half, computed(INT32, 2))
    assert not graph.widen(computed(FLOAT32, 2), target)
    assert graph.widen(half, target)
    assert target.constant.tolist() == [1.5, -2]
    assert not graph.widen(half, computed(FLOAT32, 2)), "the allowance is used up"


def test_values_are_quantized_to_8_bits_only() -> None:
    graph = made()
    for code in (QUANT8, SIGNED):
        graph.quantize(computed(FLOAT32, 2), computed(code, 2, scale=0.5))
    assert names(graph) == "QUANTIZE QUANTIZE"
    with pytest.raises(Refused, match="NNAPI quantizes to 8 bits, x is TENSOR_INT32"):
        graph.quantize(computed(FLOAT32, 2), computed(INT32, 2, scale=0.5))


def test_an_operation_without_the_quantization_is_computed_in_floats() -> None:
    graph = made()
    x, y = computed(QUANT8, 2, scale=0.5), computed(QUANT8, 2, scale=0.25)
    graph.emit(OperationCode.EXP, [x], [y])
    assert names(graph) == "DEQUANTIZE EXP QUANTIZE"
    graph.emit(OperationCode.EXP, [x], [computed(FLOAT32, 2)])
    assert names(graph) == "DEQUANTIZE EXP QUANTIZE EXP"
    with pytest.raises(Refused, match="NNAPI's EXP: "):
        graph.emit(OperationCode.EXP, [computed(INT32, 2)], [computed(INT32, 2)])


def test_booleans_are_moved_as_bytes() -> None:
    graph, y = made(), computed(BOOL8, 3, 2)
    graph.emit(OperationCode.TRANSPOSE, [computed(BOOL8, 2, 3), graph.ints([1, 0])], [y])
    assert names(graph) == "CONVERT TRANSPOSE CONVERT"
    constant = graph.bytes(Value(OperandType(BOOL8, (3,)), "", np.array([0, 1, 7], np.uint8)))
    assert (constant.constant.tolist(), constant.type) == ([0, 1, 1], OperandType(QUANT8, (3,), 1.0, 0))


@pytest.mark.parametrize(("count", "is_folded"), [(8, True), (7, False)])
def test_operations_on_constants_are_computed_within_the_allowance(count: int, is_folded: bool) -> None:
    graph, y = made(count), computed(FLOAT32)
    x = Value(OperandType(FLOAT32, (2,)), "x", np.array([1, -2], np.float32))
    graph.emit(OperationCode.ABS, [x], [y])
    assert y.shape == (2,)
    assert (y.array is not None, len(graph.steps)) == (is_folded, not is_folded)
    if is_folded:
        assert y.constant.tolist() == [1, 2]


def test_a_value_beyond_nnapi_s_rank_is_written_once_it_is_read() -> None:
    graph = made()
    value = Value(OperandType(FLOAT32, (2, 3)), "x", row=computed(FLOAT32, 6))
    graph.emit(OperationCode.ABS, [value], [computed(FLOAT32, 2, 3)])
    graph.emit(OperationCode.ABS, [value], [computed(FLOAT32, 2, 3)])
    assert names(graph) == "RESHAPE ABS ABS"


@pytest.mark.parametrize("code", [QUANT8, BOOL8])
def test_an_operation_that_is_wrong_in_any_type_is_refused(code: OperandCode) -> None:
    graph = made()
    x, y = computed(code, 2, 3, scale=0.5 * (code == QUANT8)), computed(code, scale=0.25 * (code == QUANT8))
    with pytest.raises(Refused, match="NNAPI's TRANSPOSE: "):
        graph.emit(OperationCode.TRANSPOSE, [x, graph.ints([0, 1, 2])], [y])


@pytest.mark.parametrize(("first", "second"), [((2, 3), ()), ((), (2, 3)), ((2, 3), (2, 0))])
def test_results_of_unknown_dimensions_have_those_of_the_file(first: Any, second: Any) -> None:
    graph, y = made(), computed(FLOAT32, 0, 3)
    none = graph.scalar(OperandCode.INT32, 0)
    graph.emit(OperationCode.ADD, [computed(FLOAT32, *first), computed(FLOAT32, *second), none], [y])
    assert y.shape == (0, 3)
    graph.emit(OperationCode.ADD, [computed(FLOAT32, 2, 3), computed(FLOAT32, 2, 1), none], [y])
    assert y.shape == (2, 3)


@pytest.mark.parametrize(
    ("code", "dynamic", "passes"),
    [
        (OperationCode.RESHAPE, (False, [-1, 4]), True),  # to a shape that depends on dynamic dimensions
        (OperationCode.RESHAPE, (False, [-1, -1]), False),  # RESHAPE infers one dimension
        (OperationCode.RESHAPE, (True, [-1, 4]), False),
        (OperationCode.TRANSPOSE, (False, [-1, 4]), False),
    ],
)
def test_dynamic_dimensions_may_be_the_shape_of_a_reshape(
    code: int, dynamic: tuple[bool, list[int]], passes: bool
) -> None:
    given = [SimpleNamespace(is_dynamic_shape=bool(each), constant=np.array(each)) for each in dynamic]
    result = SimpleNamespace(array=[1])
    match = SimpleNamespace(inputs={"input": (0,)})
    assert _passes(REGISTRY[code], match, given, [result]) == passes  # type: ignore[arg-type,list-item]
