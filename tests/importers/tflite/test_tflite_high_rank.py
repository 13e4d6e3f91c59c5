"""Tensors of rank 5 and 6 within a network: what moves their elements or computes each, against LiteRT."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from nnapi.formats.tflite.reader import File
from nnapi.importers.graph import FLOAT32, Value
from nnapi.importers.tflite.merged_axes import describe_merge, merge_axes
from nnapi.importers.tflite.subgraph import import_subgraph
from nnapi.model.operand import OperandType
from tests.importers.tflite.against_litert import litert, loaded, run
from tests.tflite_writer import Graph, T, const, f32, i32, single, u8, write

pytestmark = pytest.mark.engine
RNG = np.random.default_rng(6)


def check(graph: Graph, x: T, y: T, tmp_path: Path, codes: int = 0) -> nnapi.Model:
    """Assert that model and LiteRT agree on random input; gives the model."""
    content = write(graph.between([x], [y]))
    if x.type == "UINT8":
        given: Any = RNG.integers(0, 256, x.shape).astype(np.uint8)
    else:
        given = RNG.uniform(-2, 2, x.shape).astype(np.float32)
    model = loaded(content, tmp_path)
    (ours,), (theirs,) = run(model, [given]), litert(content, [given])
    assert ours.shape == theirs.shape
    np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), 2e-6, codes or 1e-6)
    return model


def used(model: nnapi.Model) -> set[int]:
    return {call.code for call in model.operations}


def upsampling(make: Any, times: tuple[int, int], ones: Any) -> tuple[Graph, T, T]:
    """An image that is repeated across and down by a product with ones."""
    (down, across), (h, w, c) = times, (3, 5, 4)
    x, tall, y = make(1, h, w, c), make(1, h, 1, w, 1, c), make(1, h * down, w * across, c)
    wide = make(1, h, down, w, across, c)
    graph = Graph().operator("RESHAPE", [x, const([1, h, 1, w, 1, c])], [tall], "ReshapeOptions")
    graph.operator(
        "MUL", [tall, ones.of(np.full((1, 1, down, 1, across, 1), 255 if make is u8 else 1))], [wide], "MulOptions"
    )
    graph.operator("RESHAPE", [wide, const(y.shape)], [y], "ReshapeOptions")
    return graph, x, y


@pytest.mark.parametrize("times", [(2, 2), (4, 2), (3, 2), (1, 2), (3, 5)])
def test_nearest_neighbors_by_a_product_with_ones(times: tuple[int, int], tmp_path: Path) -> None:
    graph, x, y = upsampling(f32, times, T("FLOAT32", (1, 1, times[0], 1, times[1], 1)))
    model = check(graph, x, y, tmp_path)
    scaled = OperationCode.RESIZE_NEAREST_NEIGHBOR in used(model)
    assert scaled == (times in ((2, 2), (4, 2)))
    assert OperationCode.MUL not in used(model)


def test_nearest_neighbors_of_codes(tmp_path: Path) -> None:
    """LiteRT has no product of codes of rank 6; theirs are repeated here."""
    graph, x, y = upsampling(u8, (2, 2), T("UINT8", (1, 1, 2, 1, 2, 1), 1 / 255, 0))
    model = loaded(write(graph.between([x], [y])), tmp_path)
    given = RNG.integers(0, 256, x.shape).astype(np.uint8)
    np.testing.assert_array_equal(run(model, [given])[0], given.repeat(2, 1).repeat(2, 2))
    assert used(model) <= {OperationCode.RESHAPE, OperationCode.RESIZE_NEAREST_NEIGHBOR}


def through(x: T, wide: T, *steps: tuple[str, list[Any], T, str | None, dict[str, Any]], y: T) -> Graph:
    """A tensor laid under a high rank, operators on it, and the result under ``y``'s rank."""
    graph = Graph().operator("RESHAPE", [x, const(wide.shape)], [wide], "ReshapeOptions")
    before = wide
    for kind, others, after, options, fields in steps:
        inputs = [before if each is None else each for each in others]
        graph.operator(kind, inputs, [after], options, **fields)
        before = after
    return graph.operator("RESHAPE", [before, const(y.shape)], [y], "ReshapeOptions")


STEPS: dict[str, tuple[list[Any], tuple[int, ...], str | None, dict[str, Any]]] = {
    "TRANSPOSE": ([None, const([0, 2, 1, 4, 3])], (2, 4, 3, 6, 5), "TransposeOptions", {}),
    "TILE": ([None, const([1, 2, 1, 3, 1])], (2, 6, 4, 15, 6), "TileOptions", {}),
    "BROADCAST_TO": ([None, const([2, 3, 4, 5, 6])], (2, 3, 4, 5, 6), "BroadcastToOptions", {}),
    "RELU": ([None], (2, 3, 4, 5, 6), None, {}),
    "LOGISTIC": ([None], (2, 3, 4, 5, 6), None, {}),
    "MEAN": ([None, const([2, 3])], (2, 3, 6), "ReducerOptions", {}),
    "SUM": ([None, const([-1])], (2, 3, 4, 5, 1), "ReducerOptions", {"KeepDims": True}),
    "SLICE": ([None, const([0, 1, 0, 0, 2]), const([-1, 2, -1, -1, 3])], (2, 2, 4, 5, 3), "SliceOptions", {}),
    "EXPAND_DIMS": ([None, const(2)], (2, 3, 1, 4, 5, 6), "ExpandDimsOptions", {}),
}


@pytest.mark.parametrize("kind", STEPS)
def test_operators_of_high_rank(kind: str, tmp_path: Path) -> None:
    others, shape, options, fields = STEPS[kind]
    x, wide, out, y = f32(6, 20, 6), f32(2, 3, 4, 5, 6), f32(*shape), f32(int(np.prod(shape)))
    check(through(x, wide, (kind, others, out, options, fields), y=y), x, y, tmp_path)


MORE: list[tuple[str, list[Any], tuple[int, ...], dict[str, Any]]] = [
    ("TRANSPOSE", [const([4, 2, 0, 3, 1])], (6, 4, 2, 5, 3), {}),
    ("TRANSPOSE", [const([3, 4, 0, 1, 2])], (5, 6, 2, 3, 4), {}),
    ("TILE", [const([3, 1, 2, 1, 1])], (6, 3, 8, 5, 6), {}),
    ("SLICE", [const([1, 0, 0, 2, 0]), const([1, 3, -1, -1, 6])], (1, 3, 4, 3, 6), {}),
    ("SLICE", [const([0, 0, 3, 0, 0]), const([2, 3, 1, 2, 6])], (2, 3, 1, 2, 6), {}),
    ("REDUCE_MAX", [const([0, 3])], (3, 4, 6), {}),
    ("REDUCE_MIN", [const([-2, 4])], (2, 3, 4), {}),
    ("REDUCE_PROD", [const([1])], (2, 1, 4, 5, 6), {"KeepDims": True}),
    ("MEAN", [const([0, 1, 4])], (1, 1, 4, 5, 1), {"KeepDims": True}),
    ("MEAN", [const([0, 2, 4])], (3, 5), {}),
    ("SLICE", [const([1, 0, 1, 0, 1]), const([1, 3, 3, 5, 5])], (1, 3, 3, 5, 5), {}),
]


@pytest.mark.parametrize(
    ("kind", "others", "shape", "fields"), MORE, ids=lambda each: each if isinstance(each, str) else ""
)
def test_operators_along_several_axes(
    kind: str, others: list[Any], shape: tuple[int, ...], fields: dict[str, Any], tmp_path: Path
) -> None:
    options = "ReducerOptions" if kind in ("MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD") else None
    x, wide, out, y = f32(6, 20, 6), f32(2, 3, 4, 5, 6), f32(*shape), f32(int(np.prod(shape)))
    check(through(x, wide, (kind, [None, *others], out, options, fields), y=y), x, y, tmp_path)


@pytest.mark.parametrize(
    ("kind", "others", "shape", "fields", "reason"),
    [
        ("TRANSPOSE", [const([0, 1, 2, 3, 3])], (2, 3, 4, 5, 5), {}, r"\[0, 1, 2, 3, 3\] is not an order of 5 axes"),
        ("RESHAPE", [const([2, 3, 4, 5, 5])], (2, 3, 4, 5, 5), {}, r"\[2, 3, 4, 5, 6\] does not reshape to"),
        ("BROADCAST_TO", [const([2, 3, 4, 5, 5])], (2, 3, 4, 5, 5), {}, r"\[2, 3, 4, 5, 6\] does not stretch to"),
        ("BROADCAST_TO", [const([5, 6])], (5, 6), {}, r"\[2, 3, 4, 5, 6\] does not stretch to \[5, 6\]"),
    ],
    ids=str,
)
def test_reasons(
    kind: str, others: list[Any], shape: tuple[int, ...], fields: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    options = {"CONCATENATION": "ConcatenationOptions", "SUM": "ReducerOptions"}.get(kind)
    x, wide, out, y = f32(6, 20, 6), f32(2, 3, 4, 5, 6), f32(*shape), f32(int(np.prod(shape)))
    graph = through(x, wide, (kind, [None, *others], out, options, fields), y=y)
    with pytest.raises(nnapi.NnapiError, match=reason):
        loaded(write(graph.between([x], [y])), tmp_path)


def test_pieces_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    x, wide, halves = f32(6, 20, 6), f32(2, 3, 4, 5, 6), [f32(2, 3, 4, 2, 6), f32(2, 3, 4, 2, 6)]
    y = f32(288)
    graph = Graph().operator("RESHAPE", [x, const(wide.shape)], [wide], "ReshapeOptions")
    graph.operator("SPLIT", [const(3), wide], halves, "SplitOptions", NumSplits=2)
    graph.operator("RESHAPE", [halves[0], const([288])], [y], "ReshapeOptions")
    with pytest.raises(nnapi.NnapiError, match=r"\[2, 3, 4, 5, 6\] cannot be split into 2 outputs along axis 3"):
        loaded(write(graph.between([x], [y])), tmp_path)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(("number", "activation", "multiplied"), [(1, 0, False), (1.001, 0, True), (1, 1, True)])
def test_only_a_plain_product_with_ones_repeats(
    number: float, activation: int, multiplied: bool, is_first: bool, tmp_path: Path
) -> None:
    x, tall, wide, y = f32(3, 5), f32(1, 3, 1, 5, 1), f32(1, 3, 2, 5, 3), f32(90)
    ones = T("FLOAT32", (2, 1, 3)).of(np.full((2, 1, 3), number))
    graph = Graph().operator("RESHAPE", [x, const(tall.shape)], [tall], "ReshapeOptions")
    inputs = [ones, tall] if is_first else [tall, ones]
    graph.operator("MUL", inputs, [wide], "MulOptions", FusedActivationFunction=activation)
    graph.operator("RESHAPE", [wide, const([90])], [y], "ReshapeOptions")
    content = write(graph.between([x], [y]))
    given = np.arange(-7, 8, dtype=np.float32).reshape(3, 5)
    expected = np.repeat(np.repeat(given.reshape(tall.shape) * np.float32(number), 2, 2), 3, 4).reshape(-1)
    model = loaded(content, tmp_path)
    np.testing.assert_allclose(run(model, [given])[0], np.maximum(expected, 0) if activation else expected, 1e-6)
    assert (OperationCode.MUL in used(model)) == multiplied


def test_a_scale_that_changes_within_high_rank_is_another_quantization(tmp_path: Path) -> None:
    x, wide, y = (
        u8(2, 3, scale=0.5, zero_point=10),
        u8(1, 2, 1, 3, 1, scale=1.0, zero_point=20),
        u8(6, scale=1.0, zero_point=20),
    )
    graph = Graph().operator("RESHAPE", [x, const(wide.shape)], [wide], "ReshapeOptions")
    graph.operator("RESHAPE", [wide, const([6])], [y], "ReshapeOptions")
    model = loaded(write(graph.between([x], [y])), tmp_path)
    assert run(model, [np.array([[10, 12, 14], [16, 20, 0]], np.uint8)])[0].tolist() == [20, 21, 22, 23, 25, 15]


@pytest.mark.parametrize("shape", [(1,), (1, 3, 1, 5, 1), (6,), (2, 1, 4, 1, 6)], ids=str)
@pytest.mark.parametrize("kind", ["ADD", "MUL", "SUB"])
def test_arithmetic_of_high_rank(kind: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    other = T("FLOAT32", shape).of(RNG.uniform(1, 2, shape))
    x, wide, out, y = f32(6, 20, 6), f32(2, 3, 4, 5, 6), f32(2, 3, 4, 5, 6), f32(720)
    options = f"{kind.title()}Options"
    step = (kind, [None, other], out, options, {"FusedActivationFunction": 1})
    check(through(x, wide, step, y=y), x, y, tmp_path)


def test_pieces_are_joined_and_cut_in_high_rank(tmp_path: Path) -> None:
    x, packed, joined = f32(2, 3, 4, 5), f32(2, 3, 2, 4, 5), f32(2, 3, 6, 4, 5)
    parts, y = [f32(2, 3, 6, 4, 5)], f32(720)
    graph = Graph().operator("PACK", [x, x], [packed], "PackOptions", Axis=2, ValuesCount=2)
    graph.operator("CONCATENATION", [packed, packed, packed], [joined], "ConcatenationOptions", Axis=2)
    graph.operator("NEG", [joined], parts)
    graph.operator("RESHAPE", [*parts, const([720])], [y], "ReshapeOptions")
    check(graph, x, y, tmp_path)
    pieces = [f32(2, 3, 2, 4, 5) for _ in range(3)]
    graph = Graph().operator("RESHAPE", [y, const(joined.shape)], [joined], "ReshapeOptions")
    graph.operator("SPLIT", [const(2), joined], pieces, "SplitOptions", NumSplits=3)
    ends = [f32(2, 3, 4, 5), f32(2, 3, 4, 5)]
    graph.operator("UNPACK", [pieces[1]], ends, "UnpackOptions", Axis=2, Num=2)
    check(graph, y, ends[1], tmp_path)


def test_an_output_of_high_rank(tmp_path: Path) -> None:
    x, y = f32(6, 20), f32(1, 2, 3, 4, 5)
    check(Graph().operator("RESHAPE", [x, const(y.shape)], [y], "ReshapeOptions"), x, y, tmp_path)


def test_a_dynamic_model_input_of_high_rank(tmp_path: Path) -> None:
    x, y = T("FLOAT32", (1, 2, 3, 4, 5), signature=(-1, 2, 3, 4, 5)), f32(120)
    content = write(Graph().operator("RESHAPE", [x, const([120])], [y], "ReshapeOptions").between([x], [y]))
    given = np.arange(120, dtype=np.float32).reshape(1, 2, 3, 4, 5)
    assert np.array_equal(run(loaded(content, tmp_path), [given])[0], given.reshape(-1))


def test_an_activation_after_a_concatenation(tmp_path: Path) -> None:
    x, wide, out, y = f32(6, 20, 6), f32(2, 3, 4, 5, 6), f32(2, 3, 4, 5, 6), f32(720)
    step = ("CONCATENATION", [None], out, "ConcatenationOptions", {"Axis": 1, "FusedActivationFunction": 1})
    model = loaded(write(through(x, wide, step, y=y).between([x], [y])), tmp_path)
    given = np.linspace(-2, 2, 720, dtype=np.float32).reshape(6, 20, 6)
    assert np.array_equal(run(model, [given])[0], np.maximum(given, 0).reshape(-1))


def test_indices_move_as_well(tmp_path: Path) -> None:
    x, wide, y = i32(4, 6), i32(2, 2, 1, 3, 2), i32(24)
    graph = Graph().operator("RESHAPE", [x, const(wide.shape)], [wide], "ReshapeOptions")
    turned = i32(2, 2, 1, 2, 3)
    graph.operator("TRANSPOSE", [wide, const([0, 1, 2, 4, 3])], [turned], "TransposeOptions")
    graph.operator("RESHAPE", [turned, const([24])], [y], "ReshapeOptions")
    content = write(graph.between([x], [y]))
    given = np.arange(24, dtype=np.int32).reshape(4, 6)
    expected = given.reshape(wide.shape).transpose(0, 1, 2, 4, 3).reshape(-1)
    assert run(loaded(content, tmp_path), [given])[0].tolist() == expected.tolist()


def test_means_of_codes_along_axes_that_are_not_adjacent(tmp_path: Path) -> None:
    x, wide, out, y = u8(6, 20, 6), u8(2, 3, 4, 5, 6), u8(3, 5), u8(15)
    graph = through(x, wide, ("MEAN", [None, const([0, 2, 4])], out, "ReducerOptions", {}), y=y)
    model = loaded(write(graph.between([x], [y])), tmp_path)
    given = RNG.integers(0, 256, (6, 20, 6)).astype(np.uint8)
    means = given.reshape(2, 3, 4, 5, 6).mean((0, 2, 4)).reshape(-1)
    assert np.abs(run(model, [given])[0] - means).max() <= 1


# Inputs of rank 5

SHAPE = (2, 3, 2, 4, 3)
WEIGHTS = const(RNG.uniform(-1, 1, (5, 3)), "FLOAT32")
PADS = const([[0, 0], [1, 0], [0, 0], [0, 2], [0, 0]])
SLICED = [const([0, 0, 0, 3, 2]), const([2, 3, 2, 0, -4]), const([1, 2, 1, -1, -1])]
OF_INPUTS: list[tuple[str, list[Any], Any, str | None, dict[str, Any]]] = [
    ("CONCATENATION", [f32(*SHAPE)], f32(2, 3, 4, 4, 3), "ConcatenationOptions", {"Axis": 2}),
    ("MEAN", [const([2, 3])], f32(2, 3, 3), "ReducerOptions", {}),
    ("REDUCE_MAX", [const([0, 2, 4])], f32(3, 4), "ReducerOptions", {}),
    ("SOFTMAX", [], f32(*SHAPE), "SoftmaxOptions", {"Beta": 0.5}),
    ("LOG_SOFTMAX", [], f32(*SHAPE), None, {}),
    ("L2_NORMALIZATION", [], f32(*SHAPE), "L2NormOptions", {}),
    ("FULLY_CONNECTED", [WEIGHTS], f32(48, 5), "FullyConnectedOptions", {}),
    ("FULLY_CONNECTED", [WEIGHTS], f32(2, 3, 2, 4, 5), "FullyConnectedOptions", {"KeepNumDims": True}),
    ("BATCH_MATMUL", [f32(2, 3, 2, 3, 5)], f32(2, 3, 2, 4, 5), "BatchMatMulOptions", {}),
    ("BATCH_MATMUL", [f32(2, 3, 2, 4, 3)], f32(2, 3, 2, 4, 4), "BatchMatMulOptions", {"AdjY": True}),
    ("TOPK_V2", [const(2)], [f32(2, 3, 2, 4, 2), i32(2, 3, 2, 4, 2)], "TopKV2Options", {}),
    ("CUMSUM", [const(1)], f32(*SHAPE), "CumsumOptions", {}),
    ("GATHER_ND", [const([[1, 0], [0, 2]])], f32(2, 2, 4, 3), None, {}),
    ("PAD", [PADS], f32(2, 4, 2, 6, 3), "PadOptions", {}),
    ("PADV2", [PADS, const([0.5], "FLOAT32")], f32(2, 4, 2, 6, 3), "PadV2Options", {}),
    ("STRIDED_SLICE", SLICED, f32(2, 2, 2, 3, 3), "StridedSliceOptions", {"EndMask": 16}),
    (
        "STRIDED_SLICE",
        [const([0, -1, 0, 0, 0]), const([2, 0, 2, 4, 3]), const([1] * 5)],
        f32(2, 2, 4, 3),
        "StridedSliceOptions",
        {"ShrinkAxisMask": 2},
    ),
    ("ADD", [f32(*SHAPE)], f32(*SHAPE), "AddOptions", {}),
    ("ADD_N", [f32(*SHAPE)], f32(*SHAPE), None, {}),
    ("CEIL", [], f32(*SHAPE), None, {}),
    ("FLOOR_MOD", [f32(*SHAPE)], f32(*SHAPE), "FloorModOptions", {}),
    ("RESHAPE", [const([6, 24])], f32(6, 24), "ReshapeOptions", {}),
]


def with_inputs(kind: str, others: list[Any], out: Any, options: str | None, fields: dict[str, Any]) -> bytes:
    return single(kind, [f32(*SHAPE), *others], out, options, **fields)


@pytest.mark.parametrize(("kind", "others", "out", "options", "fields"), OF_INPUTS)
def test_inputs_of_high_rank(
    kind: str, others: list[Any], out: Any, options: str | None, fields: dict[str, Any], tmp_path: Path
) -> None:
    content = with_inputs(kind, others, out, options, fields)
    shapes = [SHAPE, *(each.shape for each in others if each.data is None)]
    arrays = [RNG.uniform(-2, 2, shape).astype(np.float32) for shape in shapes]
    model = loaded(content, tmp_path)
    given = [
        array.reshape(model.operands[index].type.dimensions) for array, index in zip(arrays, model.inputs, strict=True)
    ]
    for ours, theirs in zip(run(model, given), litert(content, arrays), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, 2e-6, 2e-6)


def test_inputs_are_merged_only_if_the_model_is_refused_otherwise(tmp_path: Path) -> None:
    merged = loaded(with_inputs("RELU", [], f32(*SHAPE), None, {}), tmp_path)
    assert [merged.operands[index].type.dimensions for index in merged.inputs] == [(6, 2, 4, 3)]
    assert any(
        "of shape [6, 2, 4, 3], in the file [2, 3, 2, 4, 3]: its first axes are merged" in note for note in merged.notes
    )
    whole = loaded(with_inputs("LOG_SOFTMAX", [], f32(*SHAPE), None, {}), tmp_path)
    assert [whole.operands[index].type.dimensions for index in whole.inputs] == [SHAPE]


def test_the_reason_is_that_of_the_file_s_shapes(tmp_path: Path) -> None:
    content = with_inputs("SLICE", [const([1, 0, 1, 0, 1]), const([1, 2, 1, 2, 2])], f32(1, 2, 1, 2, 2), None, {})
    assert loaded(content, tmp_path).operations
    content = with_inputs("ATAN2", [f32(*SHAPE)], f32(*SHAPE), None, {})
    with pytest.raises(nnapi.NnapiError, match="inverse trigonometric"):
        loaded(content, tmp_path)


def test_only_static_values_of_more_than_four_axes_are_merged() -> None:
    wide, low, dynamic = (Value(OperandType(FLOAT32, shape), "x") for shape in (SHAPE, (2, 3), (0, 3, 2, 4, 3)))
    assert [merge_axes(value) for value in (wide, low, dynamic)] == [True, False, False]
    assert wide.row is not None
    assert wide.row.shape == (6, 2, 4, 3)
    assert describe_merge(wide).endswith("in the file [2, 3, 2, 4, 3]: its first axes are merged")


def test_options_of_an_import_hold_with_merged_axes() -> None:
    content = with_inputs("RELU", [], f32(*SHAPE), None, {})
    model = import_subgraph(File(memoryview(content)), "relu.tflite", keeps_state=True)
    assert (model.name, len(model.inputs)) == ("relu", 1)
