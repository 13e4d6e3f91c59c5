"""Slices, gathers and scatters at their limits: masks together, negative bounds, one element, refusals."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from tests.importers.tflite.against_litert import Case, case, check, run
from tests.tflite_writer import Graph, T, const, f32, i32, s8, single, write


def strided(x: T, out: T, label: str, *axes: tuple[int, int, int] | int | str, **fields: object) -> Case:
    """A slice as in NumPy: (begin, end, stride), one index, "..." or "new"."""
    bounds = [
        axis if isinstance(axis, tuple) else (axis, axis + 1, 1) if isinstance(axis, int) else (0, 0, 1)
        for axis in axes
    ]
    masks = {
        "EllipsisMask": sum(1 << i for i, axis in enumerate(axes) if axis == "..."),
        "NewAxisMask": sum(1 << i for i, axis in enumerate(axes) if axis == "new"),
        "ShrinkAxisMask": sum(1 << i for i, axis in enumerate(axes) if isinstance(axis, int)),
    }
    inputs = [x, *(const(list(numbers)) for numbers in zip(*bounds, strict=True))]
    return case("STRIDED_SLICE", inputs, out, "StridedSliceOptions", label=label, **{**masks, **fields})


SLICES = [
    strided(f32(2, 3, 4, 5), f32(3, 4, 1), "all", 1, "...", "new", 2),
    strided(f32(2, 3, 4), f32(2, 1, 3, 1, 2), "two new", (0, 2, 1), "new", "...", "new", (1, 3, 1)),
    strided(f32(5), f32(1), "one element of a new axis", 3, "new"),
    strided(f32(4, 5), f32(4, 3), "masked", (2, 4, 1), (1, 4, 1), BeginMask=1),
    strided(f32(6, 5), f32(3, 4), "offset", (2, 3, 1), (1, 4, 1), Offset=True),
    strided(f32(6), f32(2), "last two", (-2, 6, 1)),
    strided(f32(6, 5), f32(5), "last row", -1),
    strided(f32(2, 6, 5), f32(2, 5), "last step", (0, 2, 1), -1, (0, 0, 1), BeginMask=5, EndMask=5),
    strided(f32(6, 5), f32(5), "last but one, with an end mask", -2, EndMask=1),
    strided(f32(6, 2), f32(2, 2), "backwards", (4, 1, -2), (0, 2, 1)),
    strided(f32(6, 2), f32(6, 2), "reversed", (3, 2, -1), (0, 2, 1), BeginMask=1, EndMask=1),
    *(
        strided(x, like, label, *axes, **fields)
        for x, like, label, axes, fields in (
            (i32(4, 5), i32(5), "first", (0,), {}),
            (i32(4, 5), i32(4), "last", ((0, 4, 1), -1), {}),
            (i32(4, 5), i32(1, 3), "new", ("new", 2, (1, 4, 1)), {}),
            (i32(4, 5), i32(1, 5), "new at the end", (0, "new", "..."), {}),
            (i32(3), i32(1), "new of one", (1, "new"), {}),
            (i32(4, 7), i32(4, 1), "one of a stride", ((0, 4, 1), (5, 7, 2)), {}),
            (i32(4, 7), i32(2, 3), "two strides", ((0, 4, 2), (6, 0, -2)), {}),
            (i32(4, 7), i32(4, 7), "reversed", ((0, 4, 1), (0, 0, -1)), {"BeginMask": 2, "EndMask": 2}),
            (i32(6, 5), i32(3, 4), "offset", ((2, 3, 1), (1, 4, 1)), {"Offset": True}),
        )
    ),
]

GATHERS = [
    case(
        "GATHER", [f32(2, 3, 4, 5), i32(2, 3, 2)], f32(2, 3, 2, 5), "GatherOptions", Axis=2, BatchDims=2, low=0, high=3
    ),
    case("GATHER", [f32(3, 4, 5), i32(3, 2)], f32(3, 2, 5), "GatherOptions", Axis=1, BatchDims=-1, low=0, high=3),
    case("GATHER", [f32(3, 4), i32(3)], f32(3), "GatherOptions", Axis=1, BatchDims=1, low=0, high=3),
    case("GATHER", [f32(4), i32()], f32(), "GatherOptions", low=0, high=3, label="to a scalar"),
    case("GATHER_ND", [f32(2, 3, 4), i32(3)], f32(), low=0, high=1, label="to a scalar"),
    case("GATHER_ND", [f32(4, 3, 2), i32(2)], f32(2), low=0, high=2, label="to a row"),
    case("ARG_MIN", [f32(2, 3, 4), const(-2)], i32(2, 4), "ArgMinOptions", OutputType=2),
    case("TOPK_V2", [i32(2, 7), const(3)], [i32(2, 3), i32(2, 3)], "TopKV2Options", low=-99, high=99),
]

SCATTERS = [
    case("SPARSE_TO_DENSE", [const([1, 4, 2]), const([6]), i32(3), const(-1)], i32(6), label="positions"),
    case("SPARSE_TO_DENSE", [const(4), const([6]), i32(), const(-1)], i32(6), label="one"),
    case("SPARSE_TO_DENSE", [const([[0, 1], [2, 3]]), const([3, 4]), f32(), const(0.5, "FLOAT32")], f32(3, 4)),
    case("UNSORTED_SEGMENT_SUM", [f32(2, 3, 4), const([[0, 3, 0], [1, 1, 3]]), const(5)], f32(5, 4), label="rank 2"),
    case("SEGMENT_SUM", [f32(5, 3, 2), const([0, 0, 1, 2, 2])], f32(3, 3, 2), label="rank 3"),
    case("SCATTER_ND", [const([[2], [0]]), f32(2, 3, 2), const([4, 3, 2])], f32(4, 3, 2), label="slices"),
    case("DYNAMIC_UPDATE_SLICE", [f32(3, 4), f32(3, 4), const([0, 0])], f32(3, 4), label="whole"),
    case("DYNAMIC_UPDATE_SLICE", [f32(3, 4), f32(1, 1), const([1, 3])], f32(3, 4), label="one element"),
    case(
        "REVERSE_SEQUENCE",
        [f32(3, 4), const([1, 4, 3])],
        f32(3, 4),
        "ReverseSequenceOptions",
        SeqDim=1,
        BatchDim=0,
        label="rows",
    ),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", SLICES + GATHERS + SCATTERS, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.parametrize(
    ("is_variable", "shape", "size", "codes"),
    [
        (True, (2, 3), [2, 3], []),
        (False, (2, 3), [2, 3], [OperationCode.SLICE]),
        (True, (2, 2), [2, 2], [OperationCode.SLICE]),
    ],
)
def test_a_variable_s_first_state_is_passed_through(
    is_variable: bool, shape: tuple[int, ...], size: list[int], codes: list[OperationCode]
) -> None:
    x, out, y = f32(2, 3), T("FLOAT32", shape, variable=is_variable), f32(*shape)
    graph = Graph().operator("SLICE", [x, const([0, 0]), const(size)], [out], "SliceOptions")
    model = nnapi.load(write(graph.operator("ABS", [out], [y]).between([x], [y])))
    assert [call.code for call in model.operations] == [*codes, OperationCode.ABS]


def test_an_ellipsis_may_stand_for_no_axis() -> None:
    """LiteRT takes it for at least one."""
    content = strided(f32(4, 5), f32(2, 1, 3), "", (1, 3, 1), "...", "new", (0, 3, 1)).content()
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    np.testing.assert_array_equal(run(nnapi.load(content), [x])[0], x[1:3, ..., None, 0:3])


def test_computed_bounds_keep_their_masks() -> None:
    """The second bound of each masked axis would cut more off."""
    x, begin = f32(2, 4, 5), i32(3)
    inputs = [x, begin, const([2, 3, 1]), const([1, 1, 1])]
    masks = {"BeginMask": 2, "EndMask": 4, "ShrinkAxisMask": 1}
    content = single("STRIDED_SLICE", inputs, f32(3, 4), "StridedSliceOptions", **masks)
    values = np.arange(40, dtype=np.float32).reshape(2, 4, 5)
    (found,) = run(nnapi.load(content), [values, np.array([1, 2, 1], np.int32)])
    np.testing.assert_array_equal(found, values[1, :3, 1:])


def test_int32_of_a_dynamic_batch_is_sliced_along_other_axes() -> None:
    x, y = T("INT32", (1, 4), signature=(-1, 4)), T("INT32", (1, 2), signature=(-1, 2))
    model = nnapi.load(strided(x, y, "", "...", (1, 3, 1)).content())
    assert run(model, [np.arange(12, dtype=np.int32).reshape(3, 4)])[0].tolist() == [[1, 2], [5, 6], [9, 10]]


def bounds(*lengths: int, **fields: int) -> bytes:
    given = [const([0] * lengths[0]), const([1] * lengths[1]), const([1] * lengths[2])]
    return single("STRIDED_SLICE", [f32(2, 3), *given], f32(1, 1), "StridedSliceOptions", **fields)


def computed(**fields: object) -> bytes:
    return single("STRIDED_SLICE", [f32(2), i32(1), const([1]), const([1])], f32(1), "StridedSliceOptions", **fields)


DYNAMIC = T("FLOAT32", (2, 1, 3), signature=(2, -1, 3))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        *(
            (computed(**{mask: 1}), "its computed bounds have masks")
            for mask in ("EllipsisMask", "NewAxisMask", "Offset")
        ),
        *((bounds(*lengths), "its bounds are of different lengths") for lengths in ((1, 2, 2), (2, 1, 2), (2, 2, 1))),
        (bounds(3, 3, 3), "it slices 3 axes of rank 2"),
        (strided(f32(5), f32(1), "", (0, 5, 0)).content(), "its stride is 0"),
        (strided(i32(5), i32(0), "", (3, 3, 1)).content(), "its result has no elements"),
        (
            strided(T("FLOAT64", (1, 4), signature=(-1, 4)), T("FLOAT64", (1, 4)), "", (0, 1, 1)).content(),
            r"it has dynamic dimensions, which load\(shapes=…\) fixes: \w+ \[\?, 4\]",
        ),
        (
            single("GATHER", [f32(4, 5, 6), i32(4, 2)], f32(4, 5, 2), "GatherOptions", Axis=2, BatchDims=1),
            r"axis is 2, must be batch_dims \(1\) where there are batch axes",
        ),
        (
            single("GATHER", [f32(4, 5, 6), i32(3, 2)], f32(3, 2, 6), "GatherOptions", Axis=1, BatchDims=1),
            "its batches differ",
        ),
        (single("GATHER_ND", [f32(2, 3), i32(2, 3)], f32(2)), "3 coordinates of each position, must have 1 to 2"),
        *(
            (
                single("REVERSE_SEQUENCE", [f32(3, 4), i32(3)], f32(3, 4), "ReverseSequenceOptions", **axes),
                "its rows do not lie along axis 1 of batches along axis 0",
            )
            for axes in ({"SeqDim": 0, "BatchDim": 0}, {"SeqDim": 1, "BatchDim": 1}, {"SeqDim": 0, "BatchDim": 1})
        ),
        *(
            (
                single("LSH_PROJECTION", [f32(3, 4), i32(5, 2)], i32(12), "LSHProjectionOptions", Type=kind),
                rf"its type is {kind}, must be 1 \(SPARSE\) or 2 \(DENSE\)",
            )
            for kind in (0, 3)
        ),
        (
            single("SCATTER_ND", [i32(2, 3), f32(2), const([4, 5])], f32(4, 5)),
            "3 coordinates of each position, must have 1 to 2",
        ),
        (
            single("DYNAMIC_UPDATE_SLICE", [f32(3, 4), f32(4), i32(2)], f32(3, 4)),
            "its update has rank 1, its input 2",
        ),
        (
            single("DYNAMIC_UPDATE_SLICE", [f32(2, 3), f32(2, 4), const([0, 0])], f32(2, 3)),
            "its update has 4 elements along axis 1, its input 3",
        ),
        (single("GATHER", [f32(4)], f32(4), "GatherOptions"), "input 1 is not given"),
        (single("GATHER", [f32(4), None], f32(4), "GatherOptions"), "input 1 is not given"),
        (single("TOPK_V2", [f32(5), const([1, 2])], [f32(2), i32(2)], "TopKV2Options"), "holds 2 numbers, must be 1"),
        (single("TOPK_V2", [f32(5), const(1.0, "FLOAT32")], [f32(1), i32(1)], "TopKV2Options"), "is not of integers"),
    ],
)
def test_reasons(content: bytes, reason: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(content)


def test_a_table_of_a_float_result_is_dequantized_that_of_a_quantized_one_is_not() -> None:
    table = s8(3, 2, scale=0.5, zero_point=0).of([[1, 2], [3, 4], [5, 6]])
    for out, expected, codes in (
        (f32(2, 2), [[2.5, 3], [0.5, 1]], [OperationCode.EMBEDDING_LOOKUP]),
        (s8(2, 2, scale=0.5, zero_point=0), [[5, 6], [1, 2]], [OperationCode.EMBEDDING_LOOKUP]),
    ):
        model = nnapi.load(single("EMBEDDING_LOOKUP", [i32(2), table], out))
        assert run(model, [np.array([2, 0], np.int32)])[0].tolist() == expected
        assert [call.code for call in model.operations] == codes
