"""Reshaping, joining, cutting, repeating, padding; dimensions as numbers; against LiteRT."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.model.dynamic_model import DynamicModel
from nnapi.operation_codes import CompositeCode
from tests.importers.tflite.against_litert import Case, case, check, litert, loaded, reserved, run
from tests.tflite_writer import Graph, T, const, f32, flags, i32, s8, single, u8, write

a = f32(2, 3, 4)
KINDS = [f32(2, 3, 4), u8(2, 3, 4), s8(2, 3, 4), i32(2, 3, 4), flags(2, 3, 4)]


def like(tensor: T, *shape: int) -> T:
    return T(tensor.type, shape, tensor.scale, tensor.zero_point)


SHAPES = [
    *(case("RESHAPE", [x, const([4, -1])], like(x, 4, 6), "ReshapeOptions", NewShape=[4, 6]) for x in KINDS),
    case("RESHAPE", [a], f32(6, 4), "ReshapeOptions", NewShape=[6, 4], label="options"),
    case("RESHAPE", [f32(1, 1), const(np.zeros(0))], f32(), "ReshapeOptions", label="scalar"),
    *(case("SQUEEZE", [like(x, 1, 3, 1, 2)], like(x, 3, 2), "SqueezeOptions", SqueezeDims=[0, -2]) for x in KINDS),
    case("SQUEEZE", [f32(1, 3, 1)], f32(3), "SqueezeOptions", label="all"),
    *(case("EXPAND_DIMS", [x, const(-2)], like(x, 2, 3, 1, 4)) for x in KINDS),
    case("EXPAND_DIMS", [f32(), const(0)], f32(1), label="scalar"),
    *(case("TRANSPOSE", [x, const([2, 0, 1])], like(x, 4, 2, 3)) for x in KINDS),
    *(case("CONCATENATION", [x, like(x, 2, 1, 4)], like(x, 2, 4, 4), "ConcatenationOptions", Axis=-2) for x in KINDS),
    case("CONCATENATION", [i32(2, 4), i32(2, 6)], i32(2, 10), "ConcatenationOptions", Axis=1, label="wider"),
    case(
        "CONCATENATION",
        [u8(2, 3), u8(2, 3, scale=0.02)],
        u8(2, 6, scale=0.04),
        "ConcatenationOptions",
        Axis=1,
        label="rescaled",
    ),
    *(
        case("PACK", [x, like(x, 2, 3, 4)], like(x, 2, 3, 2, 4), "PackOptions", Axis=2, ValuesCount=2)
        for x in KINDS[:4]
    ),
    case("PACK", [i32(), i32(), i32()], i32(3), "PackOptions", Axis=0, ValuesCount=3, label="scalars"),
    *(case("UNPACK", [x], [like(x, 2, 4) for _ in range(3)], "UnpackOptions", Axis=1, Num=3) for x in KINDS),
    case("UNPACK", [f32(2)], [f32(), f32()], "UnpackOptions", Axis=0, Num=2, label="to scalars"),
    *(
        case("SPLIT", [const(1), like(x, 2, 6)], [like(x, 2, 3), like(x, 2, 3)], "SplitOptions", NumSplits=2)
        for x in KINDS[:4]
    ),
    *(
        case(
            "SPLIT_V",
            [like(x, 2, 6), const([1, 5]), const(1)],
            [like(x, 2, 1), like(x, 2, 5)],
            "SplitVOptions",
            NumSplits=2,
        )
        for x in KINDS[:4]
    ),
    *(case("TILE", [x, const([1, 2, 1])], like(x, 2, 6, 4)) for x in KINDS[:4]),
    *(
        case("BROADCAST_TO", [like(x, 3, 1), const([2, 3, 4])], like(x, 2, 3, 4))
        for x in (f32(2, 3, 4), i32(2, 3, 4), flags(2, 3, 4))
    ),
    *(
        case("REVERSE_V2", [x, const([1])], like(x, 2, 3, 4))
        for x in (f32(2, 3, 4), i32(2, 3, 4), u8(2, 3, 4), flags(2, 3, 4))
    ),
    case("REVERSE_V2", [a, const([0, 1])], f32(2, 3, 4), label="two axes"),
    *(case("PAD", [x, const([[0, 0], [1, 2], [0, 1]])], like(x, 2, 6, 5)) for x in KINDS[:4]),
    case("PADV2", [a, const([[0, 0], [1, 2], [0, 1]]), const([7.5], "FLOAT32")], f32(2, 6, 5)),
    case("PADV2", [i32(2, 2), const([[0, 1], [1, 0]]), const([7])], i32(3, 3)),
    case("PADV2", [s8(2, 2), const([[0, 1], [1, 0]]), s8(1).of([5])], s8(3, 3)),
    *(
        case("MIRROR_PAD", [x, const([[0, 0], [1, 2]])], like(x, 2, 6), "MirrorPadOptions", Mode=mode, label=str(mode))
        for x in (f32(2, 3), i32(2, 3), s8(2, 3))
        for mode in (0, 1)
    ),
]

NUMBERS = [
    case("SHAPE", [a], i32(3), "ShapeOptions", OutType=2),
    case("RANK", [a], i32()),
    case("FILL", [const([2, 3]), const(1.5, "FLOAT32")], f32(2, 3)),
    case("FILL", [const([2, 3]), f32()], f32(2, 3), label="computed"),
    case("FILL", [const([2, 3]), T("BOOL", (), data=True)], flags(2, 3)),
    case("ZEROS_LIKE", [a], f32(2, 3, 4)),
    case("RANGE", [const(3), const(11), const(2)], i32(4)),
    case("RANGE", [const(3.0, "FLOAT32"), const(1.0, "FLOAT32"), const(-0.5, "FLOAT32")], f32(4)),
    case(
        "ONE_HOT",
        [i32(2, 3), const(4), const(2.5, "FLOAT32"), const(-1.0, "FLOAT32")],
        f32(2, 3, 4),
        "OneHotOptions",
        Axis=-1,
        low=0,
        high=4,
    ),
    case(
        "ONE_HOT",
        [i32(2, 3), const(4), const(1), const(0)],
        i32(2, 4, 3),
        "OneHotOptions",
        Axis=1,
        low=0,
        high=4,
        label="middle",
    ),
    case(
        "ONE_HOT",
        [i32(3), const(4), T("BOOL", (), data=True), T("BOOL", (), data=False)],
        flags(3, 4),
        "OneHotOptions",
        Axis=-1,
        low=0,
        high=4,
    ),
    case("MATRIX_DIAG", [f32(2, 3)], f32(2, 3, 3)),
    case("MATRIX_SET_DIAG", [f32(2, 3, 3), f32(2, 3)], f32(2, 3, 3)),
    case("BROADCAST_ARGS", [const([3, 1]), const([2, 1, 4])], i32(3)),
    *(
        case(
            "CUMSUM",
            [x, const(axis)],
            like(x, 2, 3, 4),
            "CumsumOptions",
            Exclusive=exclusive,
            Reverse=reverse,
            label=f"{axis}{exclusive}{reverse}",
        )
        for x in (f32(2, 3, 4), i32(2, 3, 4))
        for axis in (1, -1)
        for exclusive in (False, True)
        for reverse in (False, True)
    ),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", SHAPES, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.engine
@pytest.mark.parametrize("case", NUMBERS, ids=str)
def test_numbers_agree_with_litert(case: Case, tmp_path: Path) -> None:
    """Constants alone make no model: an input is added that the output does not depend on."""
    if any(tensor is not None and tensor.data is None for tensor in case.inputs):
        check(case, tmp_path)
        return
    spare, seen = f32(1), f32(1)
    outputs = [case.outputs] if isinstance(case.outputs, T) else list(case.outputs)
    graph = Graph().operator("ABS", [spare], [seen])
    graph.operator(case.kind, case.inputs, outputs, case.options, **case.fields)
    content = write(graph.between([spare], [seen, *outputs]))
    x = [np.array([-2], np.float32)]
    for ours, theirs in zip(run(loaded(content, tmp_path), x), litert(content, x), strict=True):
        np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))


def test_booleans_are_cut_and_stacked_as_bytes(tmp_path: Path) -> None:
    """LiteRT does not."""
    x = np.array([[1, 0, 1, 1], [0, 0, 1, 0]], np.bool_)
    halves = [flags(2, 2), flags(2, 2)]
    split = case("SPLIT", [const(1), flags(2, 4)], halves, "SplitOptions", NumSplits=2)
    left, right = run(loaded(split.content(), tmp_path), [x])
    np.testing.assert_array_equal(left, x[:, :2])
    np.testing.assert_array_equal(right, x[:, 2:])
    packed = case("PACK", [flags(2, 4), flags(2, 4)], flags(2, 2, 4), "PackOptions", Axis=1, ValuesCount=2)
    np.testing.assert_array_equal(run(loaded(packed.content(), tmp_path), [x, ~x])[0], np.stack([x, ~x], 1))


A = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (case("STABLEHLO_TRANSPOSE", [f32(2, 3)], f32(3, 2), "StablehloTransposeOptions", Permutation=[1, 0]), A.T),
        (case("STABLEHLO_RESHAPE", [f32(2, 3)], f32(3, 2)), A.reshape(3, 2)),
        (case("STABLEHLO_CONCATENATE", [f32(2, 3)], f32(2, 3), "StablehloConcatenateOptions", Dimension=1), A),
        (
            case(
                "STABLEHLO_SLICE",
                [f32(2, 3)],
                f32(1, 2),
                "StablehloSliceOptions",
                StartIndices=[1, 0],
                LimitIndices=[2, 3],
                Strides=[1, 2],
            ),
            A[1:2, ::2],
        ),
        (
            case(
                "STABLEHLO_BROADCAST_IN_DIM",
                [f32(2, 3)],
                f32(2, 4, 3),
                "StablehloBroadcastInDimOptions",
                BroadcastDimensions=[0, 2],
            ),
            np.repeat(A[:, None], 4, 1),
        ),
        (
            case(
                "STABLEHLO_PAD",
                [f32(2, 3), const([9.0], "FLOAT32")],
                f32(3, 5),
                "StablehloPadOptions",
                EdgePaddingLow=[1, 0],
                EdgePaddingHigh=[0, 2],
                InteriorPadding=[0, 0],
            ),
            np.pad(A, ((1, 0), (0, 2)), constant_values=9),
        ),
    ],
    ids=str,
)
def test_stablehlo_moves(case: Case, expected: np.ndarray, tmp_path: Path) -> None:
    np.testing.assert_array_equal(run(loaded(case.content(), tmp_path), [A])[0], expected)


def test_stablehlo_iota(tmp_path: Path) -> None:
    x, line, y = i32(2, 3), i32(2, 3), i32(2, 3)
    graph = Graph().operator("STABLEHLO_IOTA", [], [line], "StablehloIotaOptions", IotaDimension=1)
    graph.operator("STABLEHLO_ADD", [x, line], [y])
    model = loaded(write(graph.between([x], [y])), tmp_path)
    assert run(model, [np.zeros((2, 3), np.int32)])[0].tolist() == [[0, 1, 2], [0, 1, 2]]


def codes_of(model: nnapi.Model) -> list[int]:
    return [call.code for call in model.operations]


def test_dimensions_of_a_batch_that_only_a_run_knows_pass_through(tmp_path: Path) -> None:
    """The usual way of flattening: SHAPE, its first number, PACK with the rest, RESHAPE."""
    x = T("FLOAT32", (1, 3, 4), signature=(-1, 3, 4))
    shape, first, wanted = i32(3), i32(), i32(2)
    flat = T("FLOAT32", (1, 12), signature=(-1, 12))
    graph = Graph().operator("SHAPE", [x], [shape], "ShapeOptions", OutType=2)
    bounds = [const([0]), const([1]), const([1])]
    graph.operator("STRIDED_SLICE", [shape, *bounds], [first], "StridedSliceOptions", ShrinkAxisMask=1)
    graph.operator("PACK", [first, const(12)], [wanted], "PackOptions", ValuesCount=2)
    graph.operator("RESHAPE", [x, wanted], [flat], "ReshapeOptions")
    model = loaded(write(graph.between([x], [flat])), tmp_path)
    assert codes_of(model) == [OperationCode.RESHAPE]
    assert model.operands[model.inputs[0]].type.dimensions == (0, 3, 4)
    image = np.arange(60, dtype=np.float32).reshape(5, 3, 4)
    assert run(model, [image])[0].shape == (5, 12)


def test_arithmetic_on_unknown_dimensions_is_done_for_each_shape(tmp_path: Path) -> None:
    x = T("FLOAT32", (1, 3), signature=(-1, 3))
    shape, doubled, tiled = i32(2), i32(2), T("FLOAT32", (2, 18), signature=(-1, 18))
    graph = Graph().operator("SHAPE", [x], [shape], "ShapeOptions", OutType=2)
    graph.operator("MUL", [shape, const([2, 2])], [doubled], "MulOptions")
    graph.operator("TILE", [x, doubled], [tiled])
    model = loaded(write(graph.between([x], [tiled])), tmp_path)
    assert isinstance(model, DynamicModel)
    x_2 = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(nnapi.compile(model, ["nnapi-reference"]).run(x_2)[0], np.tile(x_2, (4, 6)))


def test_a_depth_of_one_is_hot_at_index_zero(tmp_path: Path) -> None:
    one = single("ONE_HOT", [i32(3), const(1), const(5), const(-1)], i32(3, 1), "OneHotOptions", Axis=-1)
    assert run(loaded(one, tmp_path), [np.array([0, 1, 0], np.int32)])[0].ravel().tolist() == [5, -1, 5]


def test_int32_is_concatenated_by_one_operation(tmp_path: Path) -> None:
    joined = case("CONCATENATION", [i32(2, 1023), i32(2, 1024)], i32(2, 2047), "ConcatenationOptions", Axis=1)
    model = loaded(joined.content(), tmp_path)
    assert codes_of(model) == [CompositeCode.CONCATENATION_V2]
    x = [np.arange(2 * width, dtype=np.int32).reshape(2, width) for width in (1023, 1024)]
    np.testing.assert_array_equal(run(model, x)[0], np.concatenate(x, 1))


def test_a_fused_activation_of_concatenation_follows_it(tmp_path: Path) -> None:
    joined = case("CONCATENATION", [f32(2), f32(2)], f32(4), "ConcatenationOptions", FusedActivationFunction=1)
    model = loaded(joined.content(), tmp_path)
    assert codes_of(model) == [OperationCode.CONCATENATION, OperationCode.RELU]
    values = [np.array(pair, np.float32) for pair in ([1, -1], [-2, 2])]
    assert run(model, values)[0].tolist() == [1, 0, 0, 2]


@pytest.mark.parametrize(
    ("name", "amounts"),
    [
        ("TRANSPOSE-int32", [96]),
        ("PAD-int32", [32, 64, 48]),
        ("ONE_HOT-int32-float32", [16]),
        ("MATRIX_DIAG-float32", [36]),
        ("MATRIX_SET_DIAG-float32", [45]),
    ],
)
def test_bytes_of_constants_that_the_file_does_not_have_are_reserved(
    name: str, amounts: list[int], tmp_path: Path
) -> None:
    chosen = next(each for each in SHAPES + NUMBERS if str(each) == name)
    assert reserved(chosen, tmp_path) == amounts
