"""Axes, shapes and filled tensors at their limits: sizes that differ on every axis, omitted inputs, refusals."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from tests.importers.tflite.against_litert import Case, case, check, reserved, run
from tests.rows import each_row
from tests.tflite_writer import Graph, T, const, f32, flags, i32, single, u8, write


def half(*shape: int) -> T:
    return T("FLOAT16", shape)


def dynamic(*shape: int) -> T:
    """A float tensor whose negative dimensions are dynamic; the file has 1 for them."""
    return T("FLOAT32", tuple(max(size, 1) for size in shape), signature=shape)


def split_v(x: T, sizes: list[int], axis: int, *outputs: T, label: str = "") -> Case:
    count = len(outputs)
    return case("SPLIT_V", [x, const(sizes), const(axis)], outputs, "SplitVOptions", NumSplits=count, label=label)


def batch_to_space(x: T, block: list[int], crops: list[list[int]], out: T, label: str) -> Case:
    return case("BATCH_TO_SPACE_ND", [x, const(block), const(crops)], out, label=label)


CASES = [
    case("PACK", [f32(2, 3), f32(2, 3)], f32(2, 3, 2), "PackOptions", Axis=-1, ValuesCount=2, label="last axis"),
    case("PACK", [i32(), i32()], i32(2), "PackOptions", Axis=-1, ValuesCount=2, label="scalars, last axis"),
    case("UNPACK", [f32(2, 3)], [f32(2), f32(2), f32(2)], "UnpackOptions", Axis=-1, Num=3, label="last axis"),
    case(
        "SPLIT",
        [const(-1), f32(2, 6)],
        [f32(2, 2), f32(2, 2), f32(2, 2)],
        "SplitOptions",
        NumSplits=3,
        label="last axis",
    ),
    split_v(f32(2, 6), [1, -1, 2], -1, f32(2, 1), f32(2, 3), f32(2, 2), label="rest between"),
    split_v(f32(5, 2), [-1, 1], 0, f32(4, 2), f32(1, 2), label="rest first"),
    case("REVERSE_V2", [f32(2, 3, 4), const([2, 0, -2])], f32(2, 3, 4), label="three axes"),
    case("PADV2", [u8(2, 2), const([[0, 1], [2, 0]]), u8(1).of([7])], u8(3, 4)),
    case("SPACE_TO_BATCH_ND", [f32(2, 5, 3), const([2]), const([[1, 2]])], f32(4, 4, 3), label="both sides"),
    batch_to_space(f32(6, 3, 4, 2), [3, 2], [[1, 2], [3, 1]], f32(1, 6, 4, 2), "cropped on all sides"),
    batch_to_space(f32(6, 4, 2), [3], [[2, 3]], f32(2, 7, 2), "cropped on both sides"),
    case("MATRIX_SET_DIAG", [f32(2, 4, 3), f32(2, 3)], f32(2, 4, 3), label="tall"),
    case("MATRIX_SET_DIAG", [f32(3, 2, 4), f32(3, 2)], f32(3, 2, 4), label="wide"),
    case("MATRIX_SET_DIAG", [f32(3, 5), f32(3)], f32(3, 5), label="one"),
    case(
        "ONE_HOT",
        [i32(), const(4), const(2.5, "FLOAT32"), const(-1.0, "FLOAT32")],
        f32(4),
        "OneHotOptions",
        Axis=-1,
        low=0,
        high=3,
        label="scalar",
    ),
    case(
        "ONE_HOT",
        [i32(2, 3), const(4), const(7), const(-2)],
        i32(4, 2, 3),
        "OneHotOptions",
        Axis=0,
        low=0,
        high=4,
        label="first axis",
    ),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def compute(content: bytes, *inputs: object, dtype: type = np.float32) -> list[object]:
    """Return the results of a file's model as lists."""
    return [found.tolist() for found in run(nnapi.load(content), [np.array(each, dtype) for each in inputs])]


def codes_of(content: bytes) -> list[int]:
    return [call.code for call in nnapi.load(content).operations]


def test_a_shape_of_one_zero_is_a_scalar_s_in_old_files() -> None:
    assert compute(single("RESHAPE", [f32(1, 1), const([0])], f32(), "ReshapeOptions"), [[5]]) == [[5]]


def test_squeezing_every_axis_leaves_one_element() -> None:
    assert compute(single("SQUEEZE", [f32(1, 1)], f32(), "SqueezeOptions"), [[5]]) == [[5]]


@pytest.mark.parametrize(
    ("x", "out", "axes", "code", "shape"),
    [
        (dynamic(-1, 1, -1, 3), dynamic(-1, -1, 3), [1], OperationCode.SQUEEZE, (2, 5, 3)),
        (dynamic(-1, 1, 5, 3), dynamic(-1, 5, 3), [1], OperationCode.RESHAPE, (2, 5, 3)),
        (dynamic(2, -1, 5, 3), dynamic(2, 5, 3), [1], OperationCode.RESHAPE, (2, 5, 3)),
        (dynamic(2, 1, -1, 3), dynamic(2, -1, 3), [], OperationCode.RESHAPE, (2, 5, 3)),
    ],
)
def test_one_dynamic_dimension_is_reshaped_several_are_squeezed(
    x: T, out: T, axes: list[int], code: OperationCode, shape: tuple[int, ...]
) -> None:
    content = single("SQUEEZE", [x], out, "SqueezeOptions", SqueezeDims=axes)
    assert codes_of(content) == [code]
    values = np.arange(30, dtype=np.float32).reshape(2, 1, 5, 3)
    np.testing.assert_array_equal(run(nnapi.load(content), [values])[0], values.reshape(shape))


def test_reversing_along_no_axis_changes_nothing() -> None:
    assert compute(single("REVERSE_V2", [f32(2), const(np.zeros(0))], f32(2)), [1, 2]) == [[1, 2]]


def test_padding_and_filling_in_float16() -> None:
    value = const([2.5], "FLOAT16")
    padded = single("PADV2", [half(2), const([[1, 2]]), value], half(5))
    assert compute(padded, [1, 3], dtype=np.float16) == [[2.5, 1, 3, 2.5, 2.5]]
    filled = single("STABLEHLO_PAD", [half(2), value], half(5), "StablehloPadOptions", **pads([2], [1]))
    assert compute(filled, [1, 3], dtype=np.float16) == [[2.5, 2.5, 1, 3, 2.5]]


def pads(low: list[int], high: list[int], between: Sequence[int] = (0,)) -> dict[str, object]:
    return {"EdgePaddingLow": low, "EdgePaddingHigh": high, "InteriorPadding": list(between)}


def beside(kind: str, inputs: list[T], added: T, options: str | None = None, **fields: object) -> bytes:
    """The sum of an input and of the constant result of an operator."""
    x, y = T(added.type, added.shape), T(added.type, added.shape)
    graph = Graph().operator(kind, inputs, [added], options, **fields)  # type: ignore[arg-type]
    graph.operator("ADD", [x, added], [y], "AddOptions")
    return write(graph.between([x], [y]))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (beside("FILL", [const([3]), const(7)], i32(3)), [17, 27, 37]),
        (beside("FILL", [const([3]), const(0.5, "FLOAT32")], f32(3)), [10.5, 20.5, 30.5]),
        (beside("RANGE", [const(3), const(8), const(2)], i32(3)), [13, 25, 37]),
        (beside("RANGE", [const(3), const(-6), const(-4)], i32(3)), [13, 19, 25]),
        (beside("RANK", [const([[[1]]])], i32()), [13]),
        (beside("RANK", [const(1)], i32()), [10]),
        (beside("BROADCAST_ARGS", [const([5, 1, 2]), const([4, 1])], i32(3)), [15, 24, 32]),
        (beside("SHAPE", [const(np.zeros((4, 1, 2)))], i32(3), "ShapeOptions", OutType=2), [14, 21, 32]),
    ],
)
def test_numbers(content: bytes, expected: list[float]) -> None:
    model = nnapi.load(content)
    (x,) = (model.operands[index].type for index in model.inputs)
    values = np.array([10, 20, 30][: len(expected)], x.dtype)
    assert run(model, [values])[0].tolist() == expected


def test_zeros_of_quantized_values_are_the_zero_point() -> None:
    x, zeros, y = u8(2, 3, zero_point=120), u8(2, 3, zero_point=120), u8(2, 3, zero_point=120)
    graph = Graph().operator("ZEROS_LIKE", [x], [zeros])
    graph.operator("MAXIMUM", [x, zeros], [y])
    content = write(graph.between([x], [y]))
    assert compute(content, [[0, 119, 120], [121, 200, 255]], dtype=np.uint8) == [[[120, 120, 120], [121, 200, 255]]]


def test_stablehlo_joins_several_along_an_axis() -> None:
    content = single(
        "STABLEHLO_CONCATENATE", [f32(2, 1), f32(2, 2)], f32(2, 3), "StablehloConcatenateOptions", Dimension=1
    )
    assert compute(content, [[1], [2]], [[3, 4], [5, 6]]) == [[[1, 3, 4], [2, 5, 6]]]


def test_stablehlo_counts_along_the_first_axis() -> None:
    content = beside("STABLEHLO_IOTA", [], i32(3, 2), "StablehloIotaOptions", IotaDimension=0)
    assert compute(content, np.zeros((3, 2)), dtype=np.int32) == [[[0, 0], [1, 1], [2, 2]]]


YES, NO = (T("BOOL", (), data=value) for value in (True, False))


@each_row(
    ("content", "reason"),
    [
        (
            single("SQUEEZE", [f32(1, 2, 3)], f32(1, 3), "SqueezeOptions", SqueezeDims=[1]),
            r"it drops axes of \[1, 2, 3\] whose size is not 1",
        ),
        (single("TRANSPOSE", [f32(2, 3), const([0, 0])], f32(2, 2)), r"\[0, 0\] is not an order of 2 axes"),
        (single("TRANSPOSE", [f32(2, 3), const([1])], f32(3)), r"\[1\] is not an order of 2 axes"),
        (single("PACK", [i32(), i32()], i32(2), "PackOptions", Axis=1, ValuesCount=2), "axis 1 is outside rank 1"),
        (
            single("UNPACK", [f32(3, 2)], [f32(2), f32(2)], "UnpackOptions", Axis=0, Num=2),
            r"shape \[3, 2\] cannot be split into 2 outputs along axis 0",
        ),
        (
            single("UNPACK", [f32(3, 2)], [f32(3), f32(3), f32(3)], "UnpackOptions", Axis=1, Num=3),
            r"shape \[3, 2\] cannot be split into 3 outputs along axis 1",
        ),
        (split_v(f32(6), [1, 2, 3], 0, f32(1), f32(2)).content(), "3 sizes for 2 outputs"),
        (split_v(f32(6), [6], 0, f32(3), f32(3)).content(), "1 sizes for 2 outputs"),
        (
            single("SPACE_TO_BATCH_ND", [f32(4, 4), const([2]), const([[0, 0]])], f32(8, 2)),
            "NNAPI has it for images, the input is of rank 2",
        ),
        (
            single("SPACE_TO_BATCH_ND", [f32(2, 4, 4), const([2, 2]), const([[0, 0]] * 2)], f32(8, 2, 2)),
            "NNAPI has it for images, the input is of rank 3",
        ),
        (
            single("BATCH_TO_SPACE_ND", [f32(4, 4), const([2]), const([[0, 0]])], f32(2, 8)),
            "NNAPI has it for images, the input has rank 2",
        ),
        (
            single("BATCH_TO_SPACE_ND", [f32(4, 3, 2), const([2, 2]), const([[0, 0]] * 2)], f32(1, 6, 4)),
            "NNAPI has it for images, the input has rank 3",
        ),
        (single("SHAPE", [f32()], i32(0), "ShapeOptions"), "it asks for the dimensions of a scalar"),
        (single("RANGE", [const(3), const(3), const(1)], i32(0)), "it gives 0 numbers"),
        (single("RANGE", [const(3), const(4), const(-1)], i32(0)), "it gives -1 numbers"),
        (single("RANGE", [const(0), const(10**9), const(1)], i32(1)), "it would take 8000000000 bytes"),
        (
            single("STABLEHLO_IOTA", [], i32(3, 10**9), "StablehloIotaOptions", IotaDimension=1),
            "it would take 8000000000 bytes",
        ),
        (
            single("ONE_HOT", [i32(2), const(0), const(1), const(0)], i32(2, 0), "OneHotOptions", Axis=-1),
            "depth is 0, must be at least 1",
        ),
        *(
            (
                single("ONE_HOT", [i32(2), const(3), on, off], flags(2, 3), "OneHotOptions", Axis=-1),
                "its booleans are not true where hot and false elsewhere",
            )
            for on, off in ((YES, YES), (NO, NO), (NO, YES), (T("BOOL", ()), NO), (YES, T("BOOL", ())))
        ),
        *(
            (
                single("STABLEHLO_PAD", [f32(2), const([1.0], "FLOAT32")], f32(3), "StablehloPadOptions", **fields),
                "it pads between elements or cuts off",
            )
            for fields in (pads([1], [0], [1]), pads([-1], [2]), pads([2], [-1]))
        ),
        (
            single("STABLEHLO_PAD", [i32(2), const([1])], i32(3), "StablehloPadOptions", **pads([1], [0])),
            "its type is not float",
        ),
    ],
)
def test_reasons(content: bytes, reason: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(content)


@pytest.mark.parametrize(
    ("one", "amounts"),
    [
        (case("MATRIX_SET_DIAG", [f32(3, 5), f32(3)], f32(3, 5)), [75]),
        (case("MATRIX_SET_DIAG", [f32(2, 4, 3), f32(2, 3)], f32(2, 4, 3)), [60, 24]),
    ],
    ids=str,
)
def test_bytes_of_constants_that_the_file_does_not_have_are_reserved(
    one: Case, amounts: list[int], tmp_path: Path
) -> None:
    assert reserved(one, tmp_path) == amounts
