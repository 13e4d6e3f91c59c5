"""Slices, gathers, look-ups, reductions and products, against LiteRT."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.errors import OpFailedError
from nnapi.importers.refusals import UnsupportedOperationsError
from tests.engines import find_device
from tests.importers.tflite.against_litert import Case, agree, case, check, litert, loaded, reserved, run
from tests.tflite_writer import Graph, T, const, f32, flags, i32, s8, u8, write

rng = np.random.default_rng(3)
a = f32(4, 5, 6)
KINDS = [f32(4, 5, 6), u8(4, 5, 6), s8(4, 5, 6), i32(4, 5, 6), flags(4, 5, 6)]


def like(tensor: T, *shape: int) -> T:
    return T(tensor.type, shape, tensor.scale, tensor.zero_point)


def strided(x: T, begin: list[int], end: list[int], stride: list[int], out: T, label: str = "", **masks: int) -> Case:
    bounds = [const(numbers) for numbers in (begin, end, stride)]
    return case("STRIDED_SLICE", [x, *bounds], out, "StridedSliceOptions", label=label, **masks)


SLICES = [
    *(case("SLICE", [x, const([1, 0, 2]), const([2, -1, 3])], like(x, 2, 5, 3)) for x in KINDS),
    *(strided(x, [1, -1, 0], [3, 0, 6], [1, -2, 3], like(x, 2, 2, 2)) for x in KINDS),
    *(strided(x, [1, 2, 0], [0, 3, 4], [1, 1, 2], like(x, 3, 2), "masks", EndMask=1, ShrinkAxisMask=2) for x in KINDS),
    *(strided(x, [0, 2], [0, 5], [1, 1], like(x, 4, 5, 3), "ellipsis", EllipsisMask=1) for x in KINDS[2:]),
    *(strided(x, [0, 0, 1], [0, 4, 4], [1, 1, 1], like(x, 1, 4, 3, 6), "new axis", NewAxisMask=1) for x in KINDS[:4]),
    strided(i32(5), [2], [3], [1], i32(), "to a scalar", ShrinkAxisMask=1),
    strided(f32(5), [-2], [-1], [1], f32(), "to a scalar", ShrinkAxisMask=1),
    strided(i32(4, 5), [-2, 1], [-1, 4], [1, 1], i32(3), "from the end", ShrinkAxisMask=1),
    strided(a, [1], [3], [1], f32(2, 5, 6), "short"),
]

GATHERS = [
    *(case("GATHER", [x, const([[3, 0], [1, 1]])], like(x, 2, 2, 5, 6), "GatherOptions") for x in KINDS),
    case("GATHER", [a, i32(3)], f32(4, 3, 6), "GatherOptions", Axis=1, low=0, high=4),
    case("GATHER", [a, T("INT64", (3,))], f32(4, 5, 3), "GatherOptions", Axis=-1, low=0, high=5),
    case("GATHER", [a, i32()], f32(4, 6), "GatherOptions", Axis=1, low=0, high=4, label="scalar"),
    case("GATHER", [a, i32(4, 2)], f32(4, 2, 6), "GatherOptions", Axis=1, BatchDims=1, low=0, high=4, label="batch"),
    *(case("GATHER_ND", [x, i32(3, 2)], like(x, 3, 6), low=0, high=3) for x in KINDS),
    case("GATHER_ND", [a, i32(2, 2, 3)], f32(2, 2), low=0, high=3, label="elements"),
    case("GATHER_ND", [a, const([[1], [3]])], f32(2, 5, 6), label="constant"),
    *(
        case(kind, [x, const(1)], i32(4, 6), f"{kind.title().replace('_', '')}Options", OutputType=2)
        for kind in ("ARG_MAX", "ARG_MIN")
        for x in (f32(4, 5, 6), u8(4, 5, 6))
    ),
    case("ARG_MAX", [a, const(-1)], T("INT64", (4, 5)), "ArgMaxOptions", OutputType=4, label="int64"),
    case("TOPK_V2", [f32(3, 7), const(2)], [f32(3, 2), i32(3, 2)], "TopKV2Options"),
    case("TOPK_V2", [f32(3, 7), i32()], [f32(3, 0), i32(3, 0)], "TopKV2Options", low=2, high=5, label="computed k"),
    *(case("WHERE", [x], T("INT64", (0, len(x.shape)))) for x in (flags(3, 4), i32(2, 3, 3), f32(4, 5), flags(6))),
    case("RANGE", [const(1), i32(), const(2)], i32(0), low=7, high=9, label="computed"),
    case("RANGE", [f32(), const(-8.0, "FLOAT32"), const(-0.75, "FLOAT32")], f32(0), label="computed"),
    case("EMBEDDING_LOOKUP", [i32(3), f32(6, 2, 2).of(rng.uniform(-1, 1, (6, 2, 2)))], f32(3, 2, 2), low=0, high=5),
    case(
        "EMBEDDING_LOOKUP", [i32(3), s8(6, 4, zero_point=0).of(rng.integers(-9, 9, (6, 4)))], f32(3, 4), low=0, high=5
    ),
    case(
        "HASHTABLE_LOOKUP",
        [i32(4), const([1, 3, 5]), const(rng.uniform(-1, 1, (3, 2)), "FLOAT32")],
        [f32(4, 2), T("UINT8", (4,))],
        low=0,
        high=6,
    ),
    case(
        "LSH_PROJECTION",
        [const(rng.uniform(-1, 1, (3, 4)), "FLOAT32"), i32(5, 2), const(np.ones(5), "FLOAT32")],
        i32(12),
        "LSHProjectionOptions",
        Type=2,
    ),
    case(
        "LSH_PROJECTION",
        [const(rng.uniform(-1, 1, (3, 4)), "FLOAT32"), i32(5, 2)],
        i32(3),
        "LSHProjectionOptions",
        Type=1,
        label="sparse",
    ),
]

SCATTERS = [
    case("SCATTER_ND", [const([[1, 2], [0, 1], [1, 2]]), f32(3, 4), const([2, 3, 4])], f32(2, 3, 4)),
    case("SCATTER_ND", [i32(3, 1), i32(3), const([6])], i32(6), low=0, high=5),
    case("SPARSE_TO_DENSE", [const([[0, 1], [1, 2]]), const([2, 3]), i32(2), const(-1)], i32(2, 3)),
    case("SEGMENT_SUM", [f32(4, 2), const([0, 0, 1, 2])], f32(3, 2)),
    case("UNSORTED_SEGMENT_SUM", [f32(4, 2), i32(4), const(3)], f32(3, 2), low=0, high=2),
    *(
        case("DYNAMIC_UPDATE_SLICE", [x, like(x, 2, 5, 3), const([start, 0, 2])], like(x, 4, 5, 6), label=str(start))
        for x in (f32(4, 5, 6), i32(4, 5, 6))
        for start in (-2, 1, 9)
    ),
    case("DYNAMIC_UPDATE_SLICE", [f32(4, 3), f32(2, 3), i32(2)], f32(4, 3), low=0, high=2, label="computed"),
    *(
        case(
            "REVERSE_SEQUENCE",
            [x, i32(4)],
            like(x, 4, 5, 6),
            "ReverseSequenceOptions",
            SeqDim=1,
            BatchDim=0,
            low=1,
            high=5,
        )
        for x in (f32(4, 5, 6), i32(4, 5, 6))
    ),
    case("BUCKETIZE", [a], i32(4, 5, 6), "BucketizeOptions", Boundaries=[-1.0, 0.0, 2.5]),
    case("BUCKETIZE", [i32(2, 3)], i32(2, 3), "BucketizeOptions", Boundaries=[-1.0, 0.0, 2.0]),
]

REDUCTIONS = [
    *(
        case(kind, [a, const([1, -1])], f32(4), "ReducerOptions")
        for kind in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN")
    ),
    case("MEAN", [a, const(1)], f32(4, 1, 6), "ReducerOptions", KeepDims=True, label="kept"),
    case("SUM", [a, const([0, 1, 2])], f32(), "ReducerOptions", label="all", within=1e-5),
    case("MEAN", [s8(4, 5, 6), const([1])], s8(4, 6), "ReducerOptions"),
    case("MEAN", [u8(4, 5, 6), const([1])], u8(4, 6, scale=0.03), "ReducerOptions", label="other scale"),
    *(case(kind, [s8(4, 5, 6), const([1])], s8(4, 6), "ReducerOptions") for kind in ("REDUCE_MAX", "REDUCE_MIN")),
    case("SUM", [s8(4, 5, 6), const([1])], s8(4, 6, scale=0.2), "ReducerOptions"),
    *(
        case(kind, [i32(4, 5), const([1])], i32(4), "ReducerOptions", low=-9, high=9)
        for kind in ("SUM", "REDUCE_MAX", "REDUCE_PROD")
    ),
    *(case(kind, [flags(4, 5), const([0])], flags(5), "ReducerOptions") for kind in ("REDUCE_ANY", "REDUCE_ALL")),
    case("BATCH_MATMUL", [f32(2, 3, 4), f32(2, 4, 5)], f32(2, 3, 5), "BatchMatMulOptions"),
    case("BATCH_MATMUL", [f32(2, 4, 3), f32(2, 5, 4)], f32(2, 3, 5), "BatchMatMulOptions", AdjX=True, AdjY=True),
    case(
        "BATCH_MATMUL",
        [f32(2, 2, 3, 4), f32(4, 5).of(rng.uniform(-1, 1, (4, 5)))],
        f32(2, 2, 3, 5),
        "BatchMatMulOptions",
        label="broadcast",
    ),
    case("BATCH_MATMUL", [s8(2, 3, 4), s8(2, 4, 5)], s8(2, 3, 5, scale=0.2), "BatchMatMulOptions"),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", SLICES + GATHERS + SCATTERS + REDUCTIONS, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


OUT_OF_RANGE = [
    (
        case("GATHER", [f32(2, 3), i32(2, 1)], f32(2, 1), "GatherOptions", Axis=1, BatchDims=1),
        "t1",
        [[[0], [3]], [[-1], [0]]],
    ),
    (case("GATHER_ND", [f32(2, 3), i32(1, 2)], f32(1)), "t1[..., 1]", [[[0, 3]], [[1, -1]]]),
    (case("GATHER_ND", [f32(2, 3), i32(1, 2)], f32(1)), "t1[..., 0]", [[[2, 0]], [[-1, 2]]]),
    (case("SCATTER_ND", [i32(1, 2), f32(1), const([2, 3])], f32(2, 3)), "t0[..., 1]", [[[0, 3]], [[1, -1]]]),
    (case("SPARSE_TO_DENSE", [i32(1, 2), const([2, 3]), i32(1), const(-1)], i32(2, 3)), "t0[..., 1]", [[[0, 3]]]),
    (case("UNSORTED_SEGMENT_SUM", [f32(2, 3), i32(2), const(2)], f32(2, 3)), "t1", [[0, 2], [9, -1]]),
    (
        case("REVERSE_SEQUENCE", [f32(2, 3), i32(2)], f32(2, 3), "ReverseSequenceOptions", SeqDim=1),
        "t1",
        [[4, 2], [2, 4]],
    ),
]


@pytest.mark.parametrize("device", ["nnapi-reference", pytest.param("xnnpack-cpu", marks=pytest.mark.engine)])
@pytest.mark.parametrize(("case", "tensor", "indices"), OUT_OF_RANGE, ids=str)
def test_computed_indices_out_of_range_are_an_error(
    device: str, case: Case, tensor: str, indices: list[Any], tmp_path: Path
) -> None:
    """As in LiteRT, though that passes over some lengths of REVERSE_SEQUENCE."""
    compilation = nnapi.compile(loaded(case.content(), tmp_path), find_device(device), cache=False)
    inputs = [each for each in case.inputs if each is not None and each.data is None]
    for given in indices:
        arrays = [np.ones(each.shape, each.type.lower()) for each in inputs]
        arrays[int(tensor[1]) if len(arrays) > int(tensor[1]) else 0] = np.array(given, np.int32)
        with pytest.raises(OpFailedError, match=rf"indices {re.escape(tensor)} are in .*, must be in 0.."):
            compilation.run(*arrays)


def test_constant_indices_out_of_range_are_refused(tmp_path: Path) -> None:
    for kind, tensors, out, options, fields in (
        ("GATHER", [f32(2, 3), const([[0], [3]])], f32(2, 1), "GatherOptions", {"Axis": 1, "BatchDims": 1}),
        ("GATHER_ND", [f32(2, 3), const([[0, 3]])], f32(1), None, {}),
        ("SCATTER_ND", [const([[0, -1]]), f32(1), const([2, 3])], f32(2, 3), None, {}),
        ("UNSORTED_SEGMENT_SUM", [f32(2, 2), const([0, 3]), const(3)], f32(3, 2), None, {}),
        ("REVERSE_SEQUENCE", [f32(2, 2), const([0, 3])], f32(2, 2), "ReverseSequenceOptions", {"SeqDim": 1}),
    ):
        with pytest.raises(UnsupportedOperationsError, match="an index is outside 3"):
            loaded(case(kind, tensors, out, options, **fields).content(), tmp_path)


@pytest.mark.engine
def test_rows_of_negative_segments_are_dropped_and_negative_lengths_reverse_nothing(tmp_path: Path) -> None:
    x = rng.uniform(-1, 1, (2, 3)).astype(np.float32)
    dropped = case("UNSORTED_SEGMENT_SUM", [f32(2, 3), i32(2), const(2)], f32(2, 3))
    kept = case("REVERSE_SEQUENCE", [f32(2, 3), i32(2)], f32(2, 3), "ReverseSequenceOptions", SeqDim=1)
    for one in (dropped, kept):
        given = [x, np.array([1, -1], np.int32)]
        agree(run(loaded(one.content(), tmp_path), given), litert(one.content(), given), one)


def test_a_slice_that_has_the_output_s_dimensions_is_not_reshaped(tmp_path: Path) -> None:
    rows = strided(i32(4, 5), [1, 0], [3, 5], [1, 1], i32(2, 5))
    number = strided(i32(5), [2], [3], [1], i32(), ShrinkAxisMask=1)
    for one in (rows, number):
        assert [call.code for call in loaded(one.content(), tmp_path).operations] == [OperationCode.SLICE]


def test_a_slice_that_loses_axes_is_reshaped(tmp_path: Path) -> None:
    model = loaded(strided(i32(4, 5), [1, 0], [2, 5], [1, 1], i32(5), ShrinkAxisMask=1).content(), tmp_path)
    assert [call.code for call in model.operations] == [OperationCode.SLICE, OperationCode.RESHAPE]


@pytest.mark.parametrize("i", [0, 1, 2])
def test_any_bound_of_a_slice_may_be_computed(i: int, tmp_path: Path) -> None:
    values = ([1], [6], [2])
    bounds = [i32(1) if at == i else const(numbers) for at, numbers in enumerate(values)]
    sliced = case("STRIDED_SLICE", [f32(7), *bounds], f32(3), "StridedSliceOptions")
    model = loaded(sliced.content(), tmp_path)
    assert run(model, [np.arange(7, dtype=np.float32), np.array(values[i], np.int32)])[0].tolist() == [1, 3, 5]


def test_a_slice_of_a_constant_is_a_constant(tmp_path: Path) -> None:
    """So that a tensor's shape can be taken apart and put together for RESHAPE."""
    x, dimension, line = i32(2, 6), T("INT32", ()), i32(12)
    bounds = [const(numbers) for numbers in ([1], [2], [1])]
    graph = Graph().operator(
        "STRIDED_SLICE", [const([7, 12]), *bounds], [dimension], "StridedSliceOptions", ShrinkAxisMask=1
    )
    shape = T("INT32", (1,))
    graph.operator("PACK", [dimension], [shape], "PackOptions", ValuesCount=1)
    graph.operator("RESHAPE", [x, shape], [line], "ReshapeOptions")
    model = loaded(write(graph.between([x], [line])), tmp_path)
    assert [call.code for call in model.operations] == [OperationCode.RESHAPE]
    values = np.arange(12, dtype=np.int32).reshape(2, 6)
    np.testing.assert_array_equal(run(model, [values])[0], values.ravel())


def test_reducing_along_no_axes_changes_nothing(tmp_path: Path) -> None:
    model = loaded(case("SUM", [f32(2, 2), const(np.zeros(0))], f32(2, 2), "ReducerOptions").content(), tmp_path)
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    np.testing.assert_array_equal(run(model, [x])[0], x)


def test_reductions_of_int32_say_how_exact_they_are(tmp_path: Path) -> None:
    model = loaded(case("SUM", [i32(2, 2), const([0])], i32(2), "ReducerOptions").content(), tmp_path)
    assert "reductions of int32 are computed as float32, exact up to 2**24" in model.notes


def test_a_random_draw_keeps_its_seeds(tmp_path: Path) -> None:
    drawn = case("MULTINOMIAL", [f32(2, 3), const(5)], T("INT64", (2, 5)), "RandomOptions", Seed=3, Seed2=4)
    model = loaded(drawn.content(), tmp_path)
    assert [call.code for call in model.operations] == [OperationCode.RANDOM_MULTINOMIAL]
    found = run(model, [np.array([[0, 0, 9], [9, 0, 0]], np.float32)])[0]
    assert found.shape == (2, 5)
    assert found.min() >= 0
    assert found.max() <= 2


@pytest.mark.parametrize(
    ("name", "amounts"),
    [
        ("STRIDED_SLICE-int32", [8, 8]),
        ("SCATTER_ND-int32-float32", [96]),
        ("SPARSE_TO_DENSE-int32", []),
        ("SEGMENT_SUM-float32-int32", [24]),
        ("DYNAMIC_UPDATE_SLICE-float32-int32--2", [16, 24, 120]),
        ("REVERSE_SEQUENCE-float32-int32", [36, 24, 16]),
        ("BUCKETIZE-int32", [72, 72]),
    ],
)
def test_bytes_of_constants_that_the_file_does_not_have_are_reserved(
    name: str, amounts: list[int], tmp_path: Path
) -> None:
    """Otherwise a small file could make a model that fills the memory."""
    chosen = next(each for each in SLICES + GATHERS + SCATTERS if str(each) == name)
    assert reserved(chosen, tmp_path) == amounts


def test_rows_of_a_dynamic_axis_are_gathered_by_coordinates(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    dynamic = T("FLOAT32", (2, 1, 3), signature=(2, -1, 3))
    model = loaded(case("GATHER_ND", [dynamic, i32(2, 2)], f32(2, 3)).content(), tmp_path)
    compilation = nnapi.compile(model, "nnapi-reference", cache=False)
    assert compilation.run(x, np.array([[1, 3], [0, 2]], np.int32))[0].tolist() == [x[1, 3].tolist(), x[0, 2].tolist()]
    with pytest.raises(OpFailedError, match=r"indices t1\[..., 1\] are in 2..4, must be in 0..3"):
        compilation.run(x, np.array([[1, 4], [0, 2]], np.int32))


def test_of_equal_elements_of_a_dynamic_row_the_first_comes_first(tmp_path: Path) -> None:
    row = T("FLOAT32", (2, 5), signature=(2, -1))
    model = loaded(case("TOPK_V2", [row, const(2)], [f32(2, 2), i32(2, 2)], "TopKV2Options").content(), tmp_path)
    assert model.notes == ()
    _, indices = nnapi.compile(model, "nnapi-reference", cache=False).run(np.array([[1, 3, 3], [2, 2, 0]], np.float32))
    assert indices.tolist() == [[1, 2], [0, 1]]


@pytest.mark.parametrize(
    ("kind", "scale", "name"),
    [("MEAN", 0.05, "MEAN"), ("MEAN", 0.03, "MEAN_V2"), ("SUM", 0.05, "REDUCE_SUM_V2"), ("SUM", 0.3, "REDUCE_SUM_V2")],
)
@pytest.mark.parametrize("quantized", [s8, u8])
def test_quantized_reductions_stay_quantized(
    kind: str, scale: float, name: str, quantized: Any, tmp_path: Path
) -> None:
    """NNAPI's results have the input's scale, TensorFlow Lite's their own."""
    out = quantized(4, 6, scale=scale)
    model = check(case(kind, [quantized(4, 5, 6), const([1])], out, "ReducerOptions"), tmp_path)
    assert [call.name for call in model.operations] == [name]
