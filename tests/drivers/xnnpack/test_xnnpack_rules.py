"""Each lowering rule against the reference, on the argument lists where the two could part."""

import ast
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")

from nnapi.codes import OperandCode, OperationCode
from nnapi.drivers.litert.context import RULES
from nnapi.drivers.xnnpack.lowering import lower_model
from nnapi.model.operand import ChannelQuantization, tensor
from nnapi.operation_codes import CODES, NAMES, Code
from tests.drivers.xnnpack.engine_cases import Net, agree
from tests.drivers.xnnpack.filter_cases import FILTERS, FLOAT, SIGNED, UNSIGNED, filtered, values
from tests.single import scalar

SAME, VALID = 1, 2
TYPES = {"float32": FLOAT, "uint8": UNSIGNED, "int8": SIGNED}


def run(code: Code, inputs: list[Any], *outputs: Any) -> None:
    agree(code, inputs, list(outputs))


def given(type: Any, *shape: int, random: Any = None, low: float = -4.0, high: float = 4.0) -> tuple[Any, ...]:
    type = type.with_dimensions(shape)
    return type, values(type, random or np.random.default_rng(sum(shape)), low, high)


def ints(*numbers: int) -> list[Any]:
    return [scalar(OperandCode.INT32, number) for number in numbers]


def vector(*numbers: int) -> tuple[Any, ...]:
    return tensor("int32", (len(numbers),)), np.array(numbers, np.int32)


def flag(value: bool) -> tuple[Any, ...]:
    return scalar(OperandCode.BOOL, value)


def number(value: float) -> tuple[Any, ...]:
    return scalar(OperandCode.FLOAT32, value)


@each_row("kind", FILTERS)
@each_row(
    ("padding", "stride", "activation", "nchw", "dilation"),
    [((SAME,), 1, 0, False, 1), ((VALID,), 2, 3, False, 1), ((2, 1, 0, 2), 1, 1, False, 1), ((SAME,), 1, 1, True, 2)],
)
def test_conv_2d(kind: str, padding: tuple[int, ...], stride: int, activation: int, nchw: bool, dilation: int) -> None:
    image = (2, 5, 9, 7) if nchw else (2, 9, 7, 5)
    inputs, out = filtered(kind, image, (6, 3, 3, 5), 0, 6)
    tail = [*ints(*padding, stride, stride, activation), flag(nchw), *ints(dilation, dilation)]
    run(OperationCode.CONV_2D, [*inputs, *tail], out)


@each_row("kind", FILTERS)
@each_row("multiplier", [1, 2])
@each_row(("padding", "stride", "activation"), [((SAME,), 1, 3), ((2, 0, 1, 1), 2, 0)])
def test_depthwise_conv_2d(kind: str, multiplier: int, padding: tuple[int, ...], stride: int, activation: int) -> None:
    inputs, out = filtered(kind, (1, 8, 7, 4), (1, 3, 3, 4 * multiplier), 3, 4 * multiplier)
    run(OperationCode.DEPTHWISE_CONV_2D, [*inputs, *ints(*padding, stride, stride, multiplier, activation)], out)


@pytest.mark.parametrize("kind", FILTERS)
def test_grouped_conv_2d(kind: str) -> None:
    inputs, out = filtered(kind, (1, 6, 6, 4), (6, 3, 3, 2), 0, 6)
    run(OperationCode.GROUPED_CONV_2D, [*inputs, *ints(SAME, 1, 1, 2, 1), flag(False)], out)


@each_row("kind", FILTERS)
@each_row("padding", [(0, 0, 0, 0), (1, 0, 1, 0), (1, 2, 0, 1)])
def test_transpose_conv_2d(kind: str, padding: tuple[int, ...]) -> None:
    inputs, out = filtered(kind, (1, 5, 4, 3), (2, 3, 3, 3), 0, 2)
    run(OperationCode.TRANSPOSE_CONV_2D, [*inputs, *ints(*padding, 2, 2, 1), flag(False)], out)


def test_transpose_conv_2d_same() -> None:
    inputs, out = filtered("float32", (1, 4, 4, 3), (2, 3, 3, 3), 0, 2)
    run(OperationCode.TRANSPOSE_CONV_2D, [*inputs, vector(1, 8, 8, 2), *ints(SAME, 2, 2, 0), flag(False)], out)


@pytest.mark.parametrize("kind", ["float32", "narrow", "wide", "signed_wide"])
def test_fully_connected(kind: str) -> None:
    inputs, out = filtered(kind, (2, 3, 8), (5, 12), 0, 5)
    run(OperationCode.FULLY_CONNECTED, [*inputs, *ints(1)], out)


def test_batch_matmul() -> None:
    for type in (FLOAT, SIGNED):
        operands = [given(type, 2, 3, 4), given(type, 2, 5, 4), flag(False), flag(True)]
        run(OperationCode.BATCH_MATMUL, operands, type if type is FLOAT else tensor("int8", (), 0.5, 3))


@each_row("name", TYPES)
@each_row("padding", [(SAME,), (VALID,), (1, 2, 0, 1)])
@each_row("code", [OperationCode.AVERAGE_POOL_2D, OperationCode.MAX_POOL_2D])
def test_pools(code: OperationCode, padding: tuple[int, ...], name: str) -> None:
    type = TYPES[name]
    run(code, [given(type, 1, 7, 6, 3), *ints(*padding, 2, 1, 3, 2, 1)], type)


def test_l2_pool_2d() -> None:
    run(OperationCode.L2_POOL_2D, [given(FLOAT, 1, 7, 6, 3), *ints(SAME, 2, 2, 3, 3, 0)], FLOAT)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("code", [OperationCode.RELU, OperationCode.RELU1, OperationCode.RELU6])
def test_clamps(code: OperationCode, name: str) -> None:
    run(code, [given(TYPES[name], 4, 5)], TYPES[name])


UNIT = {"float32": FLOAT, "uint8": tensor("uint8", (), 1 / 256, 0), "int8": tensor("int8", (), 1 / 256, -128)}
SIGNED_UNIT = {"float32": FLOAT, "uint8": tensor("uint8", (), 1 / 128, 128), "int8": tensor("int8", (), 1 / 128, 0)}


@pytest.mark.parametrize("name", TYPES)
def test_squashing_functions(name: str) -> None:
    run(OperationCode.LOGISTIC, [given(TYPES[name], 3, 50)], UNIT[name])
    run(OperationCode.TANH, [given(TYPES[name], 3, 50)], SIGNED_UNIT[name])
    run(OperationCode.HARD_SWISH, [given(TYPES[name], 3, 50)], TYPES[name])
    run(OperationCode.L2_NORMALIZATION, [given(TYPES[name], 3, 5, 7), *ints(1)], SIGNED_UNIT[name])


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize(("beta", "axis"), [(1.0, -1), (0.5, 1)])
def test_softmax(name: str, beta: float, axis: int) -> None:
    for count in (2, 20):  # rows of few values have another kernel
        run(OperationCode.SOFTMAX, [given(TYPES[name], 2, 3, count), number(beta), *ints(axis)], UNIT[name])


def test_softmax_of_a_scale_that_the_engines_own_kernel_aborts_on() -> None:
    fine = tensor("int8", (), 0.002, 0)
    run(OperationCode.SOFTMAX, [given(fine, 1, 1000), number(1.0)], UNIT["int8"])


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_elu(alpha: float) -> None:
    run(OperationCode.ELU, [given(FLOAT, 4, 9), number(alpha)], FLOAT)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("shape", [(5,), (1, 4, 1), (1,)])
def test_prelu(name: str, shape: tuple[int, ...]) -> None:
    type = TYPES[name]
    run(OperationCode.PRELU, [given(type, 2, 3, 4, 5), given(type, *shape)], type)


def test_elementwise_functions() -> None:
    for code in ("ABS", "EXP", "FLOOR", "NEG", "SIN"):
        run(OperationCode[code], [given(FLOAT, 3, 7)], FLOAT)
    for code in ("LOG", "RSQRT", "SQRT"):
        run(OperationCode[code], [given(FLOAT, 3, 7, low=0.1)], FLOAT)


@each_row("name", TYPES)
@each_row(("activation", "x", "y"), [(0, [2, 3, 4], [3, 1]), (3, [2, 3, 4], [3, 1]), (3, [3], [1, 1])])
@each_row("code", [OperationCode.ADD, OperationCode.SUB, OperationCode.MUL])
def test_arithmetic(code: OperationCode, activation: int, x: list[int], y: list[int], name: str) -> None:
    type = TYPES[name]
    other = type if name == "float32" else tensor(type.code, (), 0.3, 11)  # type: ignore[arg-type]
    out = type if name == "float32" else tensor(type.code, (), 0.4, 3)  # type: ignore[arg-type]
    run(code, [given(type, *x), given(other, *y), *ints(activation)], out)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("code", [OperationCode.ADD, OperationCode.SUB, OperationCode.MUL])
def test_a_number_for_each_channel(code: OperationCode, name: str) -> None:
    type = TYPES[name]
    constant, out = given(type, 1, 1, 3), tensor(type.code, (), type.scale and 0.4, 0)  # type: ignore[arg-type]
    run(code, [given(type, 2, 4, 5, 3), constant, *ints(0)], out)
    image = type.with_dimensions((2, 4, 5, 3))
    agree(code, [given(type, 3), (image, values(image, np.random.default_rng(1))), *ints(0)], [out])


def test_sums_of_scales_too_far_apart_for_codes() -> None:
    run(OperationCode.ADD, [given(SIGNED, 4, 5), given(tensor("int8", (), 1e-6, 0), 4, 5), *ints(0)], SIGNED)
    tiny = tensor("int8", (), 1e-5, 0)
    run(OperationCode.ADD, [given(SIGNED, 4, 5), given(SIGNED, 4, 5), *ints(0)], tiny)
    run(OperationCode.MUL, [given(SIGNED, 4, 5), given(SIGNED, 4, 5), *ints(0)], tensor("int8", (), 500, 0))


def test_other_arithmetic() -> None:
    run(OperationCode.DIV, [given(FLOAT, 2, 3), given(FLOAT, 3, low=1), *ints(0)], FLOAT)
    quotients = [(tensor("int32", (4,)), [-7, 7, -6, 0]), (tensor("int32", (4,)), [2, -2, 3, 5])]
    run(OperationCode.DIV, [*quotients, *ints(0)], tensor("int32"))
    run(OperationCode.POW, [given(FLOAT, 2, 3, low=0.5), given(FLOAT, 3)], FLOAT)
    run(OperationCode.ADD, [given(tensor("int32"), 2, 3), given(tensor("int32"), 3), *ints(0)], tensor("int32"))


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("code", [OperationCode.MAXIMUM, OperationCode.MINIMUM])
def test_extremes(code: OperationCode, name: str) -> None:
    type = TYPES[name]
    other = type if name == "float32" else tensor(type.code, (), 0.3, 11)  # type: ignore[arg-type]
    run(code, [given(type, 2, 3, 4), given(other, 3, 1)], other)


@pytest.mark.parametrize("name", TYPES)
def test_comparisons(name: str) -> None:
    type = TYPES[name]
    other = type if name == "float32" else tensor(type.code, (), 0.3, 11)  # type: ignore[arg-type]
    for code in ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"):
        run(OperationCode[code], [given(type, 8, 9), given(other, 9)], tensor("bool8"))


def test_logic() -> None:
    bools = tensor("bool8", (2, 3)), np.array([[0, 1, 1], [1, 0, 0]], np.uint8)
    others = tensor("bool8", (3,)), np.array([0, 1, 0], np.uint8)
    for code in ("LOGICAL_AND", "LOGICAL_OR", "EQUAL"):
        run(OperationCode[code], [bools, others], tensor("bool8"))
    run(OperationCode.LOGICAL_NOT, [bools], tensor("bool8"))
    run(OperationCode.REDUCE_ALL, [bools, vector(0), flag(False)], tensor("bool8"))
    run(OperationCode.REDUCE_ANY, [bools, vector(1), flag(True)], tensor("bool8"))


@pytest.mark.parametrize("name", TYPES)
def test_select(name: str) -> None:
    type = TYPES[name]
    condition = tensor("bool8", (2, 3)), np.array([[0, 1, 1], [1, 0, 0]], np.uint8)
    other = type if name == "float32" else tensor(type.code, (), 0.06, 11)  # type: ignore[arg-type]
    run(OperationCode.SELECT, [condition, given(type, 2, 3), given(other, 2, 3)], type)


@pytest.mark.parametrize("name", TYPES)
def test_movement(name: str) -> None:
    type = TYPES[name]
    x = given(type, 2, 6, 4, 5)
    run(OperationCode.RESHAPE, [x, vector(4, -1, 5)], type)
    run(OperationCode.SQUEEZE, [given(type, 1, 3, 1), vector(0)], type)
    run(OperationCode.EXPAND_DIMS, [given(type, 3, 2), *ints(1)], type)
    run(OperationCode.TRANSPOSE, [x, vector(0, 3, 1, 2)], type)
    run(OperationCode.CONCATENATION, [x, given(type, 2, 1, 4, 5), *ints(1)], type)
    run(OperationCode.SPLIT, [x, *ints(-3, 3)], type, type, type)
    run(OperationCode.PAD, [x, (tensor("int32", (4, 2)), [[0, 1], [2, 0], [0, 0], [1, 1]])], type)
    run(OperationCode.SLICE, [x, vector(0, 1, 0, 2), vector(1, -1, 3, 2)], type)
    run(OperationCode.TILE, [given(type, 2, 3), vector(2, 3)], type)
    run(OperationCode.GATHER, [x, *ints(-1), (tensor("int32", (2, 2)), [[0, 4], [2, 2]])], type)
    run(OperationCode.PACK, [*ints(1), given(type, 2, 3), given(type, 2, 3)], type)
    run(OperationCode.CHANNEL_SHUFFLE, [given(type, 2, 3, 6), *ints(3, -1)], type)


@pytest.mark.parametrize("mode", [0, 1])
@pytest.mark.parametrize("name", [*TYPES, "int32"])
def test_mirror_pad(name: str, mode: int) -> None:
    type = TYPES.get(name, tensor("int32"))
    for paddings in ([[0, 0], [2, 1], [0, 0], [1, 3]], [[1, 0], [0, 0], [3, 3], [4, 4]], [[0, 0]] * 4):
        run(OperationCode.MIRROR_PAD, [given(type, 2, 6, 4, 5), (tensor("int32", (4, 2)), paddings), *ints(mode)], type)


def kinds(code: OperationCode, inputs: list[Any], out: Any) -> list[str]:
    """The engine's operators for one operation on its first input and constants."""
    net = Net()
    x = net.input(inputs[0][0])
    model = net.finished(net.call(code, [x, *(net.constant(*given) for given in inputs[1:])], out))
    return [operator.kind for operator in lower_model(model).graph.operators]


def test_what_the_engine_is_fast_at() -> None:
    image = tensor("float32", (1, 4, 4, 3))
    mirrored = [(image, None), (tensor("int32", (4, 2)), [[0, 0], [1, 1], [1, 1], [0, 0]]), *ints(0)]
    assert kinds(OperationCode.MIRROR_PAD, mirrored, tensor("float32", (1, 6, 6, 3))) == ["GATHER", "GATHER"]
    assert kinds(OperationCode.PRELU, [(image, None), (tensor("float32", (1,)), [0.1])], image) == ["LEAKY_RELU"]
    assert kinds(OperationCode.PRELU, [(image, None), (tensor("float32", (3,)), [0.1, 0.2, 0.3])], image) == ["PRELU"]


@pytest.mark.parametrize("slope", [0.0, -0.5, 2.0])
def test_one_slope_for_all(slope: float) -> None:
    run(OperationCode.PRELU, [given(FLOAT, 3, 50), (tensor("float32", (1,)), np.array([slope], np.float32))], FLOAT)


@pytest.mark.parametrize("name", TYPES)
def test_pad_v2(name: str) -> None:
    value = number(-1.5) if name == "float32" else scalar(OperandCode.INT32, 77)
    paddings = tensor("int32", (2, 2)), [[1, 0], [0, 2]]
    run(OperationCode.PAD_V2, [given(TYPES[name], 3, 2), paddings, value], TYPES[name])


def test_concatenation_of_different_scales() -> None:
    operands = [given(UNSIGNED, 2, 3), given(tensor("uint8", (), 0.3, 5), 2, 3), *ints(0)]
    run(OperationCode.CONCATENATION, operands, tensor("uint8", (), 0.2, 99))


@pytest.mark.parametrize(
    ("begin", "end", "strides", "masks"),
    [
        ((0, 4, 3), (2, -1, 0), (1, -2, -1), (0, 2, 0)),
        ((1, 2, 0), (2, 3, 4), (1, 1, 1), (0, 0, 3)),
        ((1, 2, 3), (2, 3, 4), (1, 1, 1), (0, 0, 7)),
    ],
)
def test_strided_slice(
    begin: tuple[int, ...], end: tuple[int, ...], strides: tuple[int, ...], masks: tuple[int, ...]
) -> None:
    run(
        OperationCode.STRIDED_SLICE,
        [given(UNSIGNED, 2, 5, 4), *(vector(*v) for v in (begin, end, strides)), *ints(*masks)],
        UNSIGNED,
    )


@pytest.mark.parametrize("name", TYPES)
def test_images(name: str) -> None:
    type = TYPES[name]
    run(OperationCode.DEPTH_TO_SPACE, [given(type, 1, 3, 2, 8), *ints(2)], type)
    run(OperationCode.SPACE_TO_DEPTH, [given(type, 1, 4, 6, 3), *ints(2)], type)
    run(OperationCode.BATCH_TO_SPACE_ND, [given(type, 4, 3, 2, 3), vector(2, 2)], type)
    paddings = tensor("int32", (2, 2)), [[0, 1], [2, 0]]
    run(OperationCode.SPACE_TO_BATCH_ND, [given(type, 1, 3, 4, 3), vector(2, 2), paddings], type)


@each_row("name", TYPES)
@each_row("how", [(False, False), (True, False), (False, True)])
@each_row("code", [OperationCode.RESIZE_BILINEAR, OperationCode.RESIZE_NEAREST_NEIGHBOR])
@each_row(("width", "to"), [(4, 7), (12, 74)], ids=["", "where the engine's steps miss cells"])
def test_resizing(code: OperationCode, how: tuple[bool, ...], name: str, width: int, to: int) -> None:
    run(code, [given(TYPES[name], 1, 5, width, 3), *ints(to, 11), flag(False), *map(flag, how)], TYPES[name])


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("axes", [(1, 2), (-1,), (0, 1, 2, 3)])
def test_reductions(axes: tuple[int, ...], name: str) -> None:
    type, x = TYPES[name], given(TYPES[name], 2, 3, 4, 5)
    run(OperationCode.MEAN, [x, vector(*axes), *ints(0)], type)
    run(OperationCode.REDUCE_MAX, [x, vector(*axes), flag(True)], type)
    run(OperationCode.REDUCE_MIN, [x, vector(*axes), flag(False)], type)
    run(OperationCode.ARGMAX, [x, *ints(axes[-1])], tensor("int32"))
    run(OperationCode.ARGMIN, [x, *ints(axes[-1])], tensor("int32"))


def test_float_reductions() -> None:
    x = given(FLOAT, 2, 3, 4, low=0.5, high=1.5)
    run(OperationCode.REDUCE_SUM, [x, vector(1), flag(False)], FLOAT)
    run(OperationCode.REDUCE_PROD, [x, vector(1), flag(True)], FLOAT)


def test_float_normalizations() -> None:
    x = given(FLOAT, 2, 3, 4, 6)
    run(OperationCode.LOG_SOFTMAX, [x, number(0.7), *ints(1)], FLOAT)
    run(OperationCode.LOCAL_RESPONSE_NORMALIZATION, [x, *ints(2), number(1.0), number(0.3), number(0.5)], FLOAT)
    run(OperationCode.INSTANCE_NORMALIZATION, [x, number(1.5), number(0.2), number(1e-3), flag(False)], FLOAT)


@pytest.mark.parametrize("name", ["uint8", "int8"])
def test_quantization(name: str) -> None:
    run(OperationCode.QUANTIZE, [given(FLOAT, 4, 9)], TYPES[name])
    run(OperationCode.DEQUANTIZE, [given(TYPES[name], 4, 9)], FLOAT)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_dequantization_with_a_scale_per_channel(axis: int) -> None:
    shape = 3, 4, 5
    channel = ChannelQuantization(axis, tuple(np.linspace(0.01, 0.2, shape[axis])))
    run(OperationCode.DEQUANTIZE, [given(tensor("quant8_symm_per_channel", channel=channel), *shape)], FLOAT)


def test_cast() -> None:
    run(OperationCode.CAST, [given(tensor("int32"), 2, 3)], FLOAT)
    run(OperationCode.CAST, [given(FLOAT, 2, 3)], tensor("int32"))
    run(OperationCode.CAST, [given(FLOAT, 2, 3)], FLOAT)
    run(OperationCode.CAST, [given(UNSIGNED, 2, 3)], FLOAT)
    run(OperationCode.CAST, [given(UNSIGNED, 2, 3)], tensor("int32"))


COMPARED_ELSEWHERE = {"RNN_SEQUENCE", "QUANTIZED_LSTM_SEQUENCE", "BLOCKWISE_FULLY_CONNECTED"}
"""Operations that test_xnnpack_recurrent.py, tests/importers/tflite/test_tflite_cells.py and
test_xnnpack_block_weights.py run on the engine."""


def run_by(path: Path) -> Any:
    """Names of the operations in those tests of a file that run them on both devices."""
    names = set()
    for test in ast.parse(path.read_text()).body:
        parts = list(ast.walk(test))
        calls = {node.func.id for node in parts if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_") and calls & {"run", "run_single"}:
            names |= {node.attr for node in parts if isinstance(node, ast.Attribute)}
            names |= {node.value for node in parts if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return names & set(CODES)


def test_every_rule_is_tested() -> None:
    names = ("rules", "composites", "recurrent", "lookup", "detection")
    tested = [run_by(Path(__file__).with_name(f"test_xnnpack_{name}.py")) for name in names]
    assert {NAMES[code] for code in RULES} - COMPARED_ELSEWHERE == set().union(*tested)


@each_row("depth", [1, 2, 4])
@each_row("radius", [0, 1, 3, 4, 100])
def test_a_window_of_normalization_is_cut_off_at_the_ends_of_a_row(depth: int, radius: int) -> None:
    numbers = [number(value) for value in (1.0, 2.0, 0.5)]
    x = given(FLOAT, 1, 2, 2, depth)
    run(OperationCode.LOCAL_RESPONSE_NORMALIZATION, [x, *ints(radius), *numbers], x[0])
