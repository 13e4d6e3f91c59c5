"""One literal example for each canonical rule: the operators of the exported file, and what the reference reads of it.

Neither LiteRT nor the reference material is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import nnapi
from nnapi.formats.tflite.reader import File
from nnapi.lowering.tflite.context import RULES
from nnapi.operation_codes import CODES, NAMES


def f32(values: Any) -> Any:
    return np.array(values, np.float32)


def i32(values: Any) -> Any:
    return np.array(values, np.int32)


class Example(NamedTuple):
    """A call on one or two inputs, the operators it becomes and the results. ``build`` may be the builder's method."""

    name: str
    build: Callable[..., Any] | None
    inputs: list[Any]
    kinds: str
    outputs: list[Any]


SQUARE = f32([[1, 2], [3, 4]])
ROW = f32([-2, -0.5, 0, 0.5, 2])
IMAGE = np.arange(1, 10, dtype=np.float32).reshape(1, 3, 3, 1)
ONES = np.ones((1, 2, 2, 1), np.float32)
WINDOW = {"stride_w": 1, "stride_h": 1, "filter_w": 2, "filter_h": 2}
PADDED = {"pad_left": 1, "pad_right": 0, "pad_top": 1, "pad_bottom": 0}
"""No scheme of TensorFlow Lite pads so: SAME has its zeros behind."""
SHUFFLE = "RESHAPE TRANSPOSE RESHAPE"
PLAIN = None
"""The builder's method of the operation, on the inputs alone."""
STEP = {"stride_w": 1, "stride_h": 1}
TRUTH = np.array([True, False])
BYTES = nnapi.tensor("quant8_asymm", (3,), 0.5, 128)


def one(name: str, kinds: str, build: Callable[..., Any] | None, x: Any, *expected: Any) -> Example:
    return Example(name, build, [x], kinds, list(expected))


def two(name: str, kinds: str, build: Callable[..., Any] | None, x: Any, y: Any, *expected: Any) -> Example:
    return Example(name, build, [x, y], kinds, list(expected))


EXAMPLES = [
    # activation
    one("RELU", "RELU", PLAIN, ROW, [0, 0, 0, 0.5, 2]),
    one("RELU1", "RELU_N1_TO_1", PLAIN, ROW, [-1, -0.5, 0, 0.5, 1]),
    one("RELU6", "RELU6", PLAIN, 4 * ROW, [0, 0, 0, 2, 6]),
    one("TANH", "TANH", PLAIN, ROW, [-0.9640276, -0.46211717, 0, 0.46211717, 0.9640276]),
    one("LOGISTIC", "LOGISTIC", PLAIN, ROW, [0.11920292, 0.37754068, 0.5, 0.62245935, 0.880797]),
    one("HARD_SWISH", "HARD_SWISH", PLAIN, ROW, [-1 / 3, -0.20833333, 0, 0.29166667, 5 / 3]),
    one("ELU", "ELU", lambda b, x: b.elu(x, 1.0), ROW, [-0.86466473, -0.39346933, 0, 0.5, 2]),
    one("ELU", "MINIMUM ELU MUL RELU ADD", lambda b, x: b.elu(x, 2.0), ROW, [-1.7293295, -0.78693867, 0, 0.5, 2]),
    one("GELU", "GELU", lambda b, x: b.gelu(x, False), ROW, [-0.0455003, -0.1542688, 0, 0.3457312, 1.9544997]),
    one("GELU", "GELU", lambda b, x: b.gelu(x, True), ROW, [-0.0454023, -0.154286, 0, 0.345714, 1.9545977]),
    one("PRELU", "PRELU", lambda b, x: b.prelu(x, f32([0.5])), ROW, [-1, -0.25, 0, 0.5, 2]),
    # unary
    one("ABS", "ABS", PLAIN, ROW, [2, 0.5, 0, 0.5, 2]),
    one("NEG", "NEG", PLAIN, ROW, [2, 0.5, 0, -0.5, -2]),
    one("FLOOR", "FLOOR", PLAIN, ROW, [-2, -1, 0, 0, 2]),
    one("EXP", "EXP", PLAIN, ROW[2:], [1, 1.6487212, 7.389056]),
    one("LOG", "LOG", PLAIN, SQUARE, [[0, 0.6931472], [1.0986123, 1.3862944]]),
    one("SIN", "SIN", PLAIN, ROW[2:], [0, 0.47942555, 0.9092974]),
    one("SQRT", "SQRT", PLAIN, SQUARE, [[1, 1.4142135], [1.7320508, 2]]),
    one("RSQRT", "RSQRT", PLAIN, SQUARE, [[1, 0.70710677], [0.57735026, 0.5]]),
    one("ROUND", "ROUND", PLAIN, ROW, [-2, 0, 0, 0, 2]),
    one("CEIL", "CEIL", PLAIN, ROW, [-2, 0, 0, 1, 2]),
    one("SIGN", "SIGN", PLAIN, ROW, [-1, -1, 0, 1, 1]),
    one("LOGICAL_NOT", "LOGICAL_NOT", PLAIN, TRUTH, [False, True]),
    # binary
    two("ADD", "ADD", PLAIN, SQUARE, SQUARE[0], [[2, 4], [4, 6]]),
    two("SUB", "SUB", lambda b, x, y: b.sub(x, y, 1), SQUARE, SQUARE[1], [[0, 0], [0, 0]]),
    two("MUL", "MUL", PLAIN, SQUARE, SQUARE[1], [[3, 8], [9, 16]]),
    two("DIV", "DIV", PLAIN, SQUARE, SQUARE[1], [[1 / 3, 0.5], [1, 1]]),
    two("DIV", "FLOOR_DIV", PLAIN, i32([-7, 7]), i32([2, 2]), [-4, 3]),
    two("POW", "POW", PLAIN, SQUARE, SQUARE[0], [[1, 4], [3, 16]]),
    two("MAXIMUM", "MAXIMUM", PLAIN, SQUARE, SQUARE[1], [[3, 4], [3, 4]]),
    two("MINIMUM", "MINIMUM", PLAIN, SQUARE, SQUARE[1], [[1, 2], [3, 4]]),
    two("EQUAL", "EQUAL", PLAIN, SQUARE, SQUARE[0], [[True, True], [False, False]]),
    two("NOT_EQUAL", "NOT_EQUAL", PLAIN, SQUARE, SQUARE[0], [[False, False], [True, True]]),
    two("BITWISE_XOR", "BITWISE_XOR", PLAIN, i32([12, 5]), i32([10, 3]), [6, 6]),
    one("RIGHT_SHIFT", "RIGHT_SHIFT", lambda b, x: b.right_shift(x, i32([1, 2])), i32([-8, 9]), [-4, 2]),
    one("MOD", "FLOOR_MOD", lambda b, x: b.mod(x, f32([2]), False), ROW, [0, 1.5, 0, 0.5, 0]),
    two("LESS", "LESS", PLAIN, SQUARE, SQUARE[1], [[True, True], [False, False]]),
    two("LESS_EQUAL", "CAST CAST LESS_EQUAL", PLAIN, TRUTH, TRUTH[::-1], [False, True]),
    two("GREATER", "GREATER", PLAIN, SQUARE, SQUARE[0], [[False, False], [True, True]]),
    two(
        "GREATER_EQUAL",
        "GREATER_EQUAL",
        PLAIN,
        SQUARE,
        SQUARE[0],
        [[True, True], [True, True]],
    ),
    two("LOGICAL_AND", "LOGICAL_AND", PLAIN, TRUTH, TRUTH, [True, False]),
    two("LOGICAL_OR", "LOGICAL_OR", PLAIN, TRUTH, TRUTH[::-1], [True, True]),
    # convolution
    one(
        "CONV_2D",
        "CONV_2D",
        lambda b, x: b.conv_2d(x, ONES, f32([1]), padding_scheme=2, **STEP),
        IMAGE,
        [[[[13], [17]], [[25], [29]]]],
    ),
    one(
        "CONV_2D",
        "PAD CONV_2D",
        lambda b, x: b.conv_2d(x, ONES, f32([0]), **PADDED, **STEP),
        IMAGE,
        [[[[1], [3], [5]], [[5], [12], [16]], [[11], [24], [28]]]],
    ),
    one(
        "DEPTHWISE_CONV_2D",
        "DEPTHWISE_CONV_2D",
        lambda b, x: b.depthwise_conv_2d(x, ONES, f32([0]), padding_scheme=2, multiplier=1, **STEP),
        IMAGE,
        [[[[12], [16]], [[24], [28]]]],
    ),
    one(
        "GROUPED_CONV_2D",
        "CONV_2D",
        lambda b, x: b.grouped_conv_2d(x, f32([[[[2]]], [[[3]]]]), f32([0, 0]), padding_scheme=2, num_groups=2, **STEP),
        f32([[[[1, 10]]]]),
        [[[[2, 30]]]],
    ),
    one(
        "TRANSPOSE_CONV_2D",
        "TRANSPOSE_CONV SLICE",
        lambda b, x: b.transpose_conv_2d(x, ONES, f32([0]), pad_left=1, pad_right=0, pad_top=0, pad_bottom=0, **STEP),
        f32([[[[1], [2]]]]),
        [[[[3], [2]], [[3], [2]]]],
    ),
    # matmul
    one(
        "FULLY_CONNECTED",
        "FULLY_CONNECTED",
        lambda b, x: b.fully_connected(x, SQUARE, f32([1, 0])),
        SQUARE,
        [[6, 11], [12, 25]],
    ),
    two(
        "BATCH_MATMUL",
        "BATCH_MATMUL",
        lambda b, x, y: b.batch_matmul(x, y, False, True),
        SQUARE,
        SQUARE,
        [[5, 11], [11, 25]],
    ),
    two(
        "BATCH_MATMUL",
        "SLICE SLICE MUL SLICE SLICE MUL ADD",
        lambda b, x, y: b.batch_matmul(x, y, False, False),
        SQUARE.astype(np.int32),
        SQUARE.astype(np.int32),
        [[7, 10], [15, 22]],
    ),
    # pooling
    one(
        "AVERAGE_POOL_2D",
        "AVERAGE_POOL_2D",
        lambda b, x: b.average_pool_2d(x, padding_scheme=2, **WINDOW),
        IMAGE,
        [[[[3], [4]], [[6], [7]]]],
    ),
    one(
        "AVERAGE_POOL_2D",
        "PAD AVERAGE_POOL_2D MUL",
        lambda b, x: b.average_pool_2d(x, **PADDED, **WINDOW),
        IMAGE,
        [[[[1], [1.5], [2.5]], [[2.5], [3], [4]], [[5.5], [6], [7]]]],
    ),
    one(
        "MAX_POOL_2D",
        "PADV2 MAX_POOL_2D",
        lambda b, x: b.max_pool_2d(x, **PADDED, **WINDOW),
        -IMAGE,
        [[[[-1], [-1], [-2]], [[-1], [-1], [-2]], [[-4], [-4], [-5]]]],
    ),
    one(
        "L2_POOL_2D",
        "L2_POOL_2D",
        lambda b, x: b.l2_pool_2d(x, padding_scheme=2, **WINDOW),
        np.full((1, 2, 2, 1), -3, np.float32),
        [[[[3]]]],
    ),
    # resize
    one(
        "RESIZE_BILINEAR",
        "RESIZE_BILINEAR",
        lambda b, x: b.resize_bilinear(x, width=4, height=1),
        f32([[[[0], [4]]]]),
        [[[[0], [2], [4], [4]]]],
    ),
    one(
        "RESIZE_NEAREST_NEIGHBOR",
        "RESIZE_NEAREST_NEIGHBOR",
        lambda b, x: b.resize_nearest_neighbor(x, width=4, height=1),
        f32([[[[0], [4]]]]),
        [[[[0], [0], [4], [4]]]],
    ),
    # normalization
    one("SOFTMAX", "SOFTMAX", lambda b, x: b.softmax(x, 1.0), np.log(SQUARE), [[1 / 3, 2 / 3], [3 / 7, 4 / 7]]),
    one(
        "SOFTMAX",
        "TRANSPOSE SOFTMAX TRANSPOSE",
        lambda b, x: b.softmax(x, 1.0, 0),
        np.log(SQUARE),
        [[1 / 4, 1 / 3], [3 / 4, 2 / 3]],
    ),
    one(
        "LOG_SOFTMAX",
        "REDUCE_MAX SUB MUL LOG_SOFTMAX",
        lambda b, x: b.log_softmax(x, 2.0, 1),
        np.log(SQUARE[:1]),
        [np.log([1 / 5, 4 / 5])],
    ),
    one(
        "L2_NORMALIZATION",
        "L2_NORMALIZATION",
        PLAIN,
        f32([[3, 4]]),
        [[0.6, 0.8]],
    ),
    one(
        "LOCAL_RESPONSE_NORMALIZATION",
        "LOCAL_RESPONSE_NORMALIZATION",
        lambda b, x: b.local_response_normalization(x, 1, 1.0, 1.0, 1.0),
        f32([[[[1, 2, 3]]]]),
        [[[[1 / 6, 2 / 15, 3 / 14]]]],
    ),
    one(
        "INSTANCE_NORMALIZATION",
        "MEAN SUB MUL MEAN ADD RSQRT MUL MUL ADD",
        lambda b, x: b.instance_normalization(x, 2.0, 1.0, 3.0),
        f32([[[[1], [3]]]]),
        [[[[0], [2]]]],
    ),
    # integers and bits
    two("MOD", "FLOOR_MOD", lambda b, x, y: b.mod(x, y, False), f32([-7.5, 7.5]), f32([2, -2]), [0.5, -0.5]),
    two("BITWISE_XOR", "BITWISE_XOR", PLAIN, i32([12, -1]), i32([10, 1]), [6, -2]),
    one("RIGHT_SHIFT", "RIGHT_SHIFT", lambda b, x: b.right_shift(x, i32([1, 3])), i32([-8, 17]), [-4, 2]),
    one("BITCAST", "BITCAST", lambda b, x: b.bitcast(x, out=nnapi.tensor("int32", (2,))), f32([1, 0]), [0x3F800000, 0]),
    # reduction
    one("CUMSUM", "CUMSUM", lambda b, x: b.cumsum(x, 0, False, False), SQUARE, [[1, 2], [4, 6]]),
    one("CUMSUM", "CUMSUM", lambda b, x: b.cumsum(x, 1, True, True), SQUARE, [[2, 0], [4, 0]]),
    one("MEAN", "MEAN", lambda b, x: b.mean(x, [1], 0), SQUARE, [1.5, 3.5]),
    one("REDUCE_SUM", "SUM RESHAPE", lambda b, x: b.reduce_sum(x, [0, 1], False), SQUARE, [10]),
    one("MEAN_V2", "MEAN", lambda b, x: b.mean_v2(x, [1], 0), SQUARE, [1.5, 3.5]),
    one("REDUCE_SUM_V2", "SUM RESHAPE", lambda b, x: b.reduce_sum_v2(x, [0, 1], False), SQUARE, [10]),
    one("REDUCE_PROD", "REDUCE_PROD", lambda b, x: b.reduce_prod(x, [-1], True), SQUARE, [[2], [12]]),
    one("REDUCE_MAX", "REDUCE_MAX", lambda b, x: b.reduce_max(x, [0], False), SQUARE, [3, 4]),
    one("REDUCE_MIN", "REDUCE_MIN", lambda b, x: b.reduce_min(x, [0], False), SQUARE, [1, 2]),
    one("REDUCE_ALL", "REDUCE_ALL", lambda b, x: b.reduce_all(x, [0], False), TRUTH, [False]),
    one("REDUCE_ANY", "REDUCE_ANY", lambda b, x: b.reduce_any(x, [0], False), TRUTH, [True]),
    # movement
    one("RESHAPE", "RESHAPE", lambda b, x: b.reshape(x, [4, -1]), SQUARE, [[1], [2], [3], [4]]),
    one("SQUEEZE", "RESHAPE", lambda b, x: b.squeeze(x, [0]), SQUARE[:1], [1, 2]),
    one("EXPAND_DIMS", "RESHAPE", lambda b, x: b.expand_dims(x, 0), SQUARE[0], [[1, 2]]),
    one("TRANSPOSE", "TRANSPOSE", PLAIN, SQUARE, [[1, 3], [2, 4]]),
    two(
        "CONCATENATION",
        "CONCATENATION",
        lambda b, x, y: b.concatenation(x, y, axis=1),
        SQUARE,
        SQUARE,
        [[1, 2, 1, 2], [3, 4, 3, 4]],
    ),
    two(
        "CONCATENATION_V2",
        "CONCATENATION",
        lambda b, x, y: b.concatenation_v2([x, y], 0),
        np.array([[1, 2]], np.int32),
        np.array([[3, 4]], np.int32),
        [[1, 2], [3, 4]],
    ),
    two("PACK", "PACK", lambda b, x, y: b.pack(1, x, y), SQUARE[0], SQUARE[1], [[1, 3], [2, 4]]),
    one("SPLIT", "SPLIT", lambda b, x: b.split(x, 0, 2), SQUARE, [[1, 2]], [[3, 4]]),
    one("PAD", "PAD", lambda b, x: b.pad(x, [[1, 0]]), SQUARE[0], [0, 1, 2]),
    one("PAD_V2", "PADV2", lambda b, x: b.pad_v2(x, [[0, 1]], 5.0), SQUARE[0], [1, 2, 5]),
    one("MIRROR_PAD", "MIRROR_PAD", lambda b, x: b.mirror_pad(x, [[1, 0]], 0), SQUARE[0], [2, 1, 2]),
    one("SLICE", "SLICE", lambda b, x: b.slice(x, [1, 0], [1, -1]), SQUARE, [[3, 4]]),
    one(
        "STRIDED_SLICE",
        "STRIDED_SLICE",
        lambda b, x: b.strided_slice(x, [1, 1], [2, 0], [1, -1], 0, 2, 1),
        SQUARE,
        [4, 3],
    ),
    one(
        "STRIDED_SLICE",
        "STRIDED_SLICE RESHAPE",
        lambda b, x: b.strided_slice(x, [1, 0], [2, 1], [1, 1], 0, 0, 3),
        SQUARE,
        [3],
    ),
    one("TILE", "TILE", lambda b, x: b.tile(x, [2]), SQUARE[0], [1, 2, 1, 2]),
    one("REVERSE", "REVERSE_V2", lambda b, x: b.reverse(x, [1]), SQUARE, [[2, 1], [4, 3]]),
    one(
        "DEPTH_TO_SPACE",
        "DEPTH_TO_SPACE",
        lambda b, x: b.depth_to_space(x, 2),
        SQUARE.reshape(1, 1, 1, 4),
        [[[[1], [2]], [[3], [4]]]],
    ),
    one(
        "SPACE_TO_DEPTH",
        "SPACE_TO_DEPTH",
        lambda b, x: b.space_to_depth(x, 2),
        SQUARE.reshape(1, 2, 2, 1),
        [[[[1, 2, 3, 4]]]],
    ),
    one(
        "BATCH_TO_SPACE_ND",
        "BATCH_TO_SPACE_ND",
        lambda b, x: b.batch_to_space_nd(x, [2, 2]),
        SQUARE.reshape(4, 1, 1, 1),
        [[[[1], [2]], [[3], [4]]]],
    ),
    one(
        "SPACE_TO_BATCH_ND",
        "SPACE_TO_BATCH_ND",
        lambda b, x: b.space_to_batch_nd(x, [1, 2], [[0, 0], [0, 0]]),
        SQUARE.reshape(1, 2, 2, 1),
        [[[[1]], [[3]]], [[[2]], [[4]]]],
    ),
    one(
        "CHANNEL_SHUFFLE",
        "RESHAPE TRANSPOSE RESHAPE",
        lambda b, x: b.channel_shuffle(x, 2, 0),
        ROW[1:],
        [-0.5, 0.5, 0, 2],
    ),
    # indexing
    one("GATHER", "GATHER", lambda b, x: b.gather(x, 1, [1, 1]), SQUARE, [[2, 2], [4, 4]]),
    Example("SELECT", PLAIN, [TRUTH, SQUARE[0], SQUARE[1]], "SELECT", [[1, 4]]),
    one("ARGMAX", "ARG_MAX", lambda b, x: b.argmax(x, 1), SQUARE, [1, 1]),
    one("ARGMIN", "ARG_MIN RESHAPE", lambda b, x: b.argmin(x, 0), ROW, [0]),
    one("TOPK_V2", "REVERSE_V2 TOPK_V2 SUB", lambda b, x: b.topk_v2(x, 2), ROW, [2, 0.5], [4, 3]),
    one("TOP_K", "TOPK_V2", lambda b, x: b.top_k(x, -1, 2, True), ROW, [2, 0.5], [4, 3]),
    one("TAKE", "GATHER", lambda b, x: b.take(x, 1, i32([-1, 0])), SQUARE, [[2, 1], [4, 3]]),
    one("GATHER_ELEMENTS", "GATHER", lambda b, x: b.gather_elements(x, 1, i32([[1], [0]]), False), SQUARE, [[2], [3]]),
    one("GATHER_ND", "GATHER_ND", lambda b, x: b.gather_nd(x, i32([[1, 0], [0, 1]]), 0, False), SQUARE, [3, 2]),
    one("GATHER_ND", "RESHAPE GATHER", lambda b, x: b.gather_nd(x, i32([[1], [0]]), 1, False), SQUARE, [2, 3]),
    one(
        "SCATTER_ND",
        "SCATTER_ND ADD",
        lambda b, x: b.scatter_nd(x, i32([[1], [1]]), SQUARE, 1, False),
        SQUARE,
        [[1, 2], [7, 10]],
    ),
    one(
        "EMBEDDING_LOOKUP",
        "EMBEDDING_LOOKUP",
        lambda b, x: b.embedding_lookup(i32([1, 0]), x),
        SQUARE,
        [[3, 4], [1, 2]],
    ),
    one(
        "HASHTABLE_LOOKUP",
        "HASHTABLE_LOOKUP",
        lambda b, x: b.hashtable_lookup(
            i32([7, 5]),
            i32([3, 7]),
            x,
            out=[nnapi.tensor("float32", (2, 2)), nnapi.tensor("quant8_asymm", (2,), 1.0)],
        ),
        SQUARE,
        [[3, 4], [0, 0]],
        [1, 0],
    ),
    one(
        "LSH_PROJECTION",
        "LSH_PROJECTION",
        lambda b, x: b.lsh_projection(f32([[0.123, 0.456], [-0.321, 1.234]]), x, f32([0.5]), 3),
        i32([12345]),
        [0, 5],
    ),
    # quantization
    one("QUANTIZE", "QUANTIZE", lambda b, x: b.quantize(x, out=BYTES), ROW[2:], [128, 129, 132]),
    one(
        "DEQUANTIZE",
        "QUANTIZE DEQUANTIZE",
        lambda b, x: b.dequantize(b.quantize(x, out=BYTES), out=nnapi.tensor("float32", (3,))),
        ROW[2:],
        [0, 0.5, 2],
    ),
    one(
        "CONVERT",
        "CAST",
        lambda b, x: b.convert(x, out=nnapi.tensor("bool8", (5,))),
        ROW,
        [True, True, False, True, True],
    ),
    one(
        "BITCAST",
        "BITCAST",
        lambda b, x: b.bitcast(x, out=nnapi.tensor("int32", (2,))),
        f32([0.5, -2]),
        [63 << 24, -1 << 30],
    ),
    one("CAST", "CAST", lambda b, x: b.cast(x, out=nnapi.tensor("int32", (2, 2))), 2 * SQUARE, [[2, 4], [6, 8]]),
]


def make(example: Example) -> nnapi.Model:
    builder = nnapi.Builder()
    codes = {"float32": "float32", "int32": "int32", "bool": "bool8"}
    tensors = [builder.input(nnapi.tensor(codes[x.dtype.name], x.shape), f"x{i}") for i, x in enumerate(example.inputs)]
    results = example.build(builder, *tensors) if example.build else getattr(builder, example.name.lower())(*tensors)
    builder.output(*(results if isinstance(results, tuple) else [results]))
    return builder.finish()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.name} as {example.kinds}")
def test_a_rule(example: Example, tmp_path: Path) -> None:
    model = make(example)
    assert CODES[example.name] in {call.code for call in model.operations}
    nnapi.export(model, tmp_path / "model.tflite")
    content = (tmp_path / "model.tflite").read_bytes()
    assert [each.kind for each in File(memoryview(content)).subgraph(0).operators] == example.kinds.split()
    results = nnapi.compile(nnapi.load(tmp_path / "model.tflite"), "nnapi-reference").run(*example.inputs)
    for found, expected in zip(results, example.outputs, strict=True):
        np.testing.assert_allclose(found, expected, 1e-5, 1e-6)


WITHOUT = {
    "DETECTION_POSTPROCESSING",
    "DETECTION_POSTPROCESSING_V2",
    "QUANTIZED_LSTM",
    "QUANTIZED_LSTM_SEQUENCE",
    "RNN_SEQUENCE",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
}
"""Operations of many operands, whose examples are in tests of their own."""


def test_every_rule_has_an_example() -> None:
    assert {NAMES[code] for code in RULES} - WITHOUT == {example.name for example in EXAMPLES}
