"""Functions, conversions and sums of products at their limits: defaults, broadcasts, scales, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

import nnapi
from nnapi.codes import OperationCode
from tests.importers.tflite.against_litert import Case, case, check, run
from tests.rows import each_row
from tests.tflite_writer import Graph, T, const, f32, flags, i32, s8, single, u8, write

PER_CHANNEL = s8(2, 3, scale=[0.5, 0.25, 2], axis=1, zero_point=0)


def select(condition: T, x: T, y: T, out: T, kind: str = "SELECT_V2") -> Case:
    return case(kind, [condition, x, y], out, label=f"{len(condition.shape)}{len(x.shape)}{len(y.shape)}")


def fake_quant(low: float, high: float, **fields: Any) -> Case:
    given = {"Min": low, "Max": high, "NumBits": 8, **fields}
    return case("FAKE_QUANT", [f32(3, 40)], f32(3, 40), "FakeQuantOptions", label=f"{low}{high}", **given)


def cumsum(x: T, axis: int, **fields: bool) -> Case:
    return case("CUMSUM", [x, const(axis)], f32(*x.shape), "CumsumOptions", label=f"{axis}{fields}", **fields)


CASES = [
    fake_quant(-0.7, 2.5),
    fake_quant(0.0, 1.3),
    fake_quant(-2.0, 0.0),
    case("CAST", [PER_CHANNEL], i32(2, 3), "CastOptions", label="per channel"),
    case("CAST", [T("INT8", (2, 3))], f32(2, 3), "CastOptions", label="signed to float"),
    case("CAST", [T("UINT8", (2, 3))], i32(2, 3), "CastOptions", label="unsigned"),
    case("CAST", [f32(2, 3)], flags(2, 3), "CastOptions", label="to booleans"),
    case("CAST", [i32(2, 3)], T("INT8", (2, 3)), "CastOptions", low=-99, high=99, codes=0, label="to signed"),
    case("CAST", [flags(2, 3)], T("INT8", (2, 3)), "CastOptions", codes=0, label="booleans to signed"),
    *(
        case(
            "CAST",
            [T(source, (4, 50))],
            T(target, (4, 50), scale),
            "CastOptions",
            low=-999,
            high=999,
            codes=0,
            label=f"{target}, {scale}",
        )
        for source in ("INT32", "INT64", "UINT8", "INT8")
        for target, scale in (("UINT8", None), ("INT8", None), ("UINT8", 0.5), ("INT8", 0.5))
        if source != target
    ),
    *(
        case(
            "CAST",
            [f32(4, 50)],
            T(target, (4, 50), scale),
            "CastOptions",
            low=-400,
            high=400,
            codes=0,
            label=f"{target}, {scale}",
        )
        for target, scale in (("UINT8", None), ("INT8", None), ("INT8", 0.5))
    ),
    case("ADD_N", [f32(2), f32(2), f32(2), f32(2)], f32(2)),
    case("ADD_N", [i32(2), i32(2)], i32(2), low=-99, high=99),
    select(flags(2, 1, 3), f32(4, 1), f32(1, 4, 3), f32(2, 4, 3)),
    select(flags(1), s8(2, 3), s8(2, 3), s8(2, 3)),
    select(flags(3), f32(3, 2, 2), f32(3, 2, 2), f32(3, 2, 2), "SELECT"),
    cumsum(f32(5), 0),
    cumsum(f32(2, 3, 4), 0, Exclusive=True),
    cumsum(f32(2, 3, 4), -2, Reverse=True),
    case("LEAKY_RELU", [s8(2, 3, 4)], s8(2, 3, 4), "LeakyReluOptions", Alpha=0.0, label="slope of 0"),
    case("BUCKETIZE", [i32(3, 4)], i32(3, 4), "BucketizeOptions", Boundaries=[-2.0, 0.0, 1.0], low=-3, high=3),
    case("L2_NORMALIZATION", [f32(2, 3, 4)], f32(2, 3, 4), "L2NormOptions", low=1),
    case(
        "BATCH_MATMUL",
        [f32(3, 1, 2, 4), f32(5, 4, 3)],
        f32(3, 5, 2, 3),
        "BatchMatMulOptions",
        label="both batches",
    ),
    case("BATCH_MATMUL", [f32(5, 2, 4), f32(1, 3, 4)], f32(5, 2, 3), "BatchMatMulOptions", AdjY=True, label="of one"),
    case("REDUCE_MIN", [i32(3, 4, 2), const([1, 0])], i32(1, 1, 2), "ReducerOptions", KeepDims=True, low=-9, high=9),
    case("RESIZE_BILINEAR", [f32(2, 3, 5, 1), const([7, 4])], f32(2, 7, 4, 1), "ResizeBilinearOptions"),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def compute(content: bytes, *inputs: Any, dtype: Any = np.float32) -> Any:
    (found,) = run(nnapi.load(content), [np.array(each, dtype) for each in inputs])
    return found.tolist()


def codes_of(content: bytes) -> list[str]:
    return [call.name for call in nnapi.load(content).operations]


@pytest.mark.parametrize(
    ("direction", "expected"),
    list(enumerate([[0, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1], [1, 1, 0], [1, 0, 0]])),
    ids=["equal", "not equal", "not less", "greater", "not greater", "less"],
)
def test_directions_of_stablehlo(direction: int, expected: list[int]) -> None:
    fields = {"ComparisonDirection": direction}
    content = single("STABLEHLO_COMPARE", [f32(3), f32(3)], flags(3), "StablehloCompareOptions", **fields)
    assert compute(content, [1, 2, 3], [2, 2, 2]) == expected


@pytest.mark.parametrize(
    ("scale", "zero_point", "make", "out", "expected"),
    [
        (0.5, 3, s8, f32(4), [-128, 0, 3, 127]),
        (0.5, 0, s8, i32(4), [-128, 0, 3, 127]),
        (1.0, 3, s8, i32(4), [-128, 0, 3, 127]),
        (0.5, 3, s8, flags(4), [1, 0, 1, 1]),
        (0.5, 128, u8, flags(4), [0, 1, 1, 1]),
    ],
)
def test_casts_are_of_stored_values(scale: float, zero_point: int, make: Any, out: T, expected: list[float]) -> None:
    """Also those to booleans, as in LiteRT."""
    values = np.array([-128, 0, 3, 127]) + (128 if make is u8 else 0)
    x = make(4, scale=scale, zero_point=zero_point)
    content = single("CAST", [x], out, "CastOptions")
    assert compute(content, values, dtype=np.uint8 if make is u8 else np.int8) == expected


def test_a_cast_to_the_same_type_is_nothing() -> None:
    x, between, y = i32(2), T("INT64", (2,)), i32(2)
    graph = Graph().operator("CAST", [x], [between], "CastOptions").operator("ABS", [between], [y])
    assert codes_of(write(graph.between([x], [y]))) == ["ABS"]


@pytest.mark.parametrize(("alpha", "expected"), [(0.25, [-1, 0, 4]), (0.0, [0, 0, 4]), (-0.5, [2, 0, 4])])
def test_slopes_of_quantized_values(alpha: float, expected: list[float]) -> None:
    x, y = u8(3, scale=0.5, zero_point=100), u8(3, scale=0.25, zero_point=50)
    found = compute(single("LEAKY_RELU", [x], y, "LeakyReluOptions", Alpha=alpha), [92, 100, 108], dtype=np.uint8)
    assert [(code - 50) * 0.25 for code in found] == expected


def test_a_sum_of_one_is_that_one() -> None:
    x, between, y = f32(2), f32(2), f32(2)
    graph = Graph().operator("ADD_N", [x], [between]).operator("NEG", [between], [y])
    assert codes_of(write(graph.between([x], [y]))) == ["NEG"]


def test_seeds_are_31_bits() -> None:
    content = single("MULTINOMIAL", [f32(2, 3), const(5)], i32(2, 5), "RandomOptions", Seed=-1, Seed2=2**31 + 5)
    model = nnapi.load(content)
    (call,) = model.operations
    assert [model.operands[index].value.tolist() for index in call.inputs[1:]] == [5, [2**31 - 1, 5]]


def conv(x: T, filter: T, *rest: T | None, kind: str = "CONV_2D", **fields: int) -> bytes:
    options = {"CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions"}[kind]
    out = T(x.type, (1, 4, 4, 4), x.scale and 0.5, 0)
    return single(kind, [x, filter, *rest], out, options, **{"StrideW": 1, "StrideH": 1, **fields})


@pytest.mark.parametrize(("across", "down", "layout"), [(1, 1, []), (2, 1, [False, 2, 1]), (1, 3, [False, 1, 3])])
def test_dilations_of_one_are_left_out(across: int, down: int, layout: list[object]) -> None:
    model = nnapi.load(conv(f32(1, 4, 4, 2), f32(4, 2, 2, 2), DilationWFactor=across, DilationHFactor=down))
    (call,) = model.operations
    assert [model.operands[index].value.item() for index in call.inputs[7:]] == layout


def test_strides_are_across_and_down() -> None:
    model = nnapi.load(conv(f32(1, 4, 4, 2), f32(4, 2, 2, 2), StrideW=3, StrideH=2, Padding=1))
    (call,) = model.operations
    assert [model.operands[index].value.item() for index in call.inputs[3:]] == [2, 3, 2, 0]


def detector(**changed: object) -> bytes:
    boxes, scores, anchors = f32(2, 3, 4), f32(2, 3, 5), const(np.ones((3, 4)), "FLOAT32")
    given = {
        "max_detections": 6,
        "max_classes_per_detection": 2,
        "num_classes": 4,
        "nms_score_threshold": 0.25,
        "nms_iou_threshold": 0.5,
        **{f"{name}_scale": number for name, number in zip("yxhw", (1.0, 2.0, 3.0, 4.0), strict=True)},
        **changed,
    }
    outputs = [f32() for _ in range(4)]
    custom = bytes(flexbuffers.Dumps({name: value for name, value in given.items() if value is not None}))
    graph = Graph().operator("CUSTOM:TFLite_Detection_PostProcess", [boxes, scores, anchors], outputs, custom=custom)
    return write(graph.between([boxes, scores], outputs))


@pytest.mark.parametrize(("regular", "found"), [(None, 12), (False, 12), (True, 6)])
def test_parameters_of_detectors(regular: bool | None, found: int) -> None:
    """By default the suppression is fast, and finds so many classes for each box."""
    model = nnapi.load(detector(use_regular_nms=regular))
    call = model.operations[0]
    assert call.code == OperationCode.DETECTION_POSTPROCESSING
    numbers = [model.operands[index].value.item() for index in call.inputs[3:]]
    assert numbers == [1, 2, 3, 4, bool(regular), 6, 2, 100, 0.25, 0.5, False]
    shapes = [model.operands[index].type.dimensions for index in model.outputs]
    assert shapes == [(2, found, 4), (2, found), (2, found), (2,)]
    assert not any("threshold" in note for note in model.notes)


def test_a_threshold_of_zero_is_taken_as_it_is() -> None:
    assert not any("threshold" in note for note in nnapi.load(detector(nms_score_threshold=0.0)).notes)


def dense(x: T, weights: T, *rest: T | None, **fields: object) -> bytes:
    return single("FULLY_CONNECTED", [x, weights, *rest], f32(2, 3), "FullyConnectedOptions", **fields)


IMAGE, FILTER = u8(1, 4, 4, 4), u8(4, 2, 2, 4).of(np.zeros((4, 2, 2, 4)))


@each_row(
    ("content", "reason"),
    [
        *(
            (
                single(
                    "STABLEHLO_COMPARE",
                    [f32(3), f32(3)],
                    flags(3),
                    "StablehloCompareOptions",
                    ComparisonDirection=direction,
                ),
                f"its direction {direction} is none",
            )
            for direction in (6, 255)
        ),
        (fake_quant(-1, 1, NumBits=16).content(), "NNAPI quantizes to the full 8 bits only"),
        (fake_quant(-1, 1, NarrowRange=True).content(), "NNAPI quantizes to the full 8 bits only"),
        (fake_quant(0, 0).content(), "its range 0 to 0 is empty"),
        (fake_quant(0, np.inf).content(), "its range 0 to inf is empty"),
        (fake_quant(-np.inf, 0).content(), "its range -inf to 0 is empty"),
        (single("QUANTIZE", [i32(2)], u8(2)), "its input is TENSOR_INT32, NNAPI quantizes floats"),
        (
            conv(f32(1, 4, 4, 4), f32(4, 2, 2, 2), DilationWFactor=2),
            "NNAPI's GROUPED_CONV_2D has no dilation",
        ),
        (
            conv(f32(1, 4, 4, 4), f32(4, 2, 2, 2), DilationHFactor=2),
            "NNAPI's GROUPED_CONV_2D has no dilation",
        ),
        (conv(f32(4, 4, 2), f32(4, 2, 2, 2)), "its input and filter are not of rank 4"),
        (conv(f32(1, 4, 4, 2), f32(4, 2, 2), kind="DEPTHWISE_CONV_2D"), "its input and filter are not of rank 4"),
        (conv(IMAGE, FILTER, T("INT32", (4,), 0.0025)), "its bias is computed; NNAPI's quantized operation needs"),
        (conv(f32(1, 4, 4, 4), f32(4, 2, 2, 4), const([1, 2, 3, 4])), "its bias is of integers without a scale"),
        (
            single(
                "TRANSPOSE_CONV",
                [const([1, 4, 4, 2]), f32(2, 3, 3), f32(1, 4, 4, 2)],
                f32(1, 4, 4, 2),
                "TransposeConvOptions",
                StrideW=1,
                StrideH=1,
            ),
            "its filter is not of rank 4",
        ),
        (dense(f32(2, 4), f32(3, 4), WeightsFormat=1), "its weights are shuffled for one kind of processor"),
        (dense(f32(2, 4), f32(3, 2, 2)), "its weights are of rank 3"),
        (dense(f32(2, 4), f32(12)), "its weights are of rank 1"),
        (
            single("L2_NORMALIZATION", [f32(2, 3)], f32(2, 3), "L2NormOptions", FusedActivationFunction=1),
            "NNAPI's L2_NORMALIZATION has no fused activation, the file wants 1",
        ),
        (single("BUCKETIZE", [f32(2)], i32(2), "BucketizeOptions"), "it has no boundaries"),
        (single("MEAN", [i32(2, 2), const([0])], i32(2), "ReducerOptions"), "NNAPI has no mean of integers"),
        (detector(num_classes=6), "it has scores of 5 classes, must be 6, or one more for a background"),
        (detector(num_classes=3), "it has scores of 5 classes, must be 3, or one more for a background"),
        (detector(max_detections=None), "its parameters have no max_detections"),
        (detector(num_classes="4"), "its parameter num_classes is '4', must be a number"),
    ],
)
def test_reasons(content: bytes, reason: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(content)
