"""Shapes and axes: each way that an operator may be given, and the operations that it becomes."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.importers.graph import MADE_UP_PER_BYTE  # noqa: E402
from tests.importers.onnx.operator_cases import (  # noqa: E402
    QUANTIZE,
    X,
    chain,
    compare,
    computed,
    loaded,
    made,
    reference,
    single,
    step,
)

ONES = X[:1, :, :1]  # 1, 3, 1, 5
SIX = np.arange(144, dtype=np.float32).reshape(2, 3, 2, 3, 2, 2)
BLOCKS = np.arange(2 * 12 * 2 * 3, dtype=np.float32).reshape(2, 12, 2, 3)
SPACES = np.arange(2 * 2 * 6 * 12, dtype=np.float32).reshape(2, 2, 6, 12)
INTS = np.arange(-30, 30, dtype=np.int32).reshape(3, 4, 5)


def row(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


CASES: list[tuple[str, str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("Reshape", "RESHAPE", X, (row(0, -1, 5),), {"opset": 13}),
    ("Reshape", "RESHAPE", X, (row(-1, 1),), {}),
    ("Flatten", "RESHAPE", X, (), {}),
    ("Flatten", "RESHAPE", X, (), {"axis": 0}),
    ("Flatten", "RESHAPE", X, (), {"axis": -1}),
    ("Flatten", "RESHAPE", X, (), {"axis": -3}),
    ("Squeeze", "RESHAPE", ONES, (), {}),
    ("Squeeze", "RESHAPE", ONES, (row(2),), {}),
    ("Squeeze", "RESHAPE", ONES, (row(-4),), {}),
    ("Squeeze", "RESHAPE", ONES, (row(-2, 0),), {}),
    ("Unsqueeze", "RESHAPE", INTS[:, 0], (row(3, -4),), {}),
    ("Unsqueeze", "RESHAPE", INTS[:, 0], (row(-1, 1),), {}),
    ("Transpose", "TRANSPOSE", X, (), {}),
    ("Transpose", "TRANSPOSE", X, (), {"perm": [0, 3, 1, 2]}),
    ("Transpose", "CONVERT TRANSPOSE CONVERT", X > 0, (), {"perm": [2, 1, 3, 0]}),
    ("Transpose", "RESHAPE", X[:1], (), {"perm": [1, 0, 2, 3]}),
    ("Transpose", "RESHAPE GATHER RESHAPE", INTS, (), {"perm": [1, 2, 0]}),
    ("Split", "CAST", X, (), {"axis": 3}),
    ("Expand", "TILE", ONES, (row(2, 3, 4, 5),), {}),
    ("Expand", "RESHAPE TILE", INTS[0], (row(3, 1, 5),), {}),
    ("Expand", "RESHAPE TILE", INTS[:, :1], (row(2, 3, 4, 5),), {}),
    ("Tile", "TILE", INTS, (row(2, 1, 3),), {}),
    ("Trilu", "RESHAPE SELECT RESHAPE", X, (), {}),
    ("Trilu", "RESHAPE SELECT RESHAPE", X, (np.int64(1),), {}),
    ("Trilu", "RESHAPE SELECT RESHAPE", X, (np.int64(-2),), {"upper": 0}),
    ("Trilu", "SELECT", INTS, (np.int64(1),), {"upper": 0}),
    ("ReverseSequence", "RESHAPE GATHER RESHAPE", X, (row(2, 1, 2),), {}),
    ("ReverseSequence", "RESHAPE GATHER RESHAPE", INTS, (row(1, 2, 3, 0)[:3],), {"time_axis": 1, "batch_axis": 0}),
    ("DepthToSpace", "TRANSPOSE DEPTH_TO_SPACE TRANSPOSE", BLOCKS, (), {"blocksize": 2}),
    ("DepthToSpace", "TRANSPOSE GATHER DEPTH_TO_SPACE TRANSPOSE", BLOCKS, (), {"blocksize": 2, "mode": "CRD"}),
    ("SpaceToDepth", "TRANSPOSE SPACE_TO_DEPTH TRANSPOSE", SPACES, (), {"blocksize": 2}),
    ("SpaceToDepth", "TRANSPOSE SPACE_TO_DEPTH TRANSPOSE", SPACES, (), {"blocksize": 3}),
    ("EyeLike", "CAST", X[0, 0], (), {"k": 1}),
    ("EyeLike", "CAST", X[0, 0], (), {"k": -2, "dtype": 6}),
    ("EyeLike", "CAST", X[0, 0], (), {}),
    ("EyeLike", "CAST", INTS[0], (), {}),
    ("Pad", "PAD", X, (row(0, 1, 0, 2, 3, 0, 0, 1),), {}),
    ("Pad", "PAD_V2", X, (row(0, 1, 0, 2, 3, 0, 0, 1), np.float32(7.5)), {}),
    ("Pad", "PAD", X, (), {"pads": [0, 1, 0, 2, 3, 0, 0, 1], "opset": 10}),
    ("Pad", "PAD_V2", X, (), {"pads": [0, 1, 0, 2, 3, 0, 0, 1], "value": -2.5, "opset": 10}),
    ("Pad", "PAD", X, (row(1, 2, 3, 4), None, row(3, -3)), {"opset": 18}),
    ("Pad", "MIRROR_PAD", X, (row(1, 2, 3, 0, 0, 1, 2, 4),), {"mode": "reflect"}),
    ("Pad", "GATHER GATHER", X, (row(0, 2, 0, 0, 0, 0, 0, 5),), {"mode": "reflect"}),
    ("Pad", "GATHER GATHER", X, (row(0, 2, 0, 0, 0, 0, 0, 6),), {"mode": "edge"}),
    ("Pad", "GATHER", X, (row(0, 0, 0, 2, 0, 0, 0, 1),), {"mode": "wrap", "opset": 19}),
    ("Pad", "GATHER GATHER", INTS, (row(1, 2, 0, 0, 0, 0),), {"mode": "reflect"}),
    ("Pad", "CONCATENATION_V2", INTS, (row(1, 0, 0, 0, 0, 0), np.int32(9)), {}),
]


@each_row(("kind", "operations", "x", "constants", "options"), CASES)
def test_elements_move_as_in_the_reference(kind: str, operations: str, x: Any, constants: Any, options: Any) -> None:
    compare(single(kind, x, *constants, **options), x, operations)


@pytest.mark.parametrize(
    ("pads", "operations", "expected"),
    [
        (row(0, -1, 0, -2, 0, 0, -1, 0), "SLICE", X[:, 1:, :-1, 2:]),
        (
            row(0, -1, 1, 0, 1, 0, 0, -2),
            "SLICE PAD_V2",
            np.pad(X[:, 1:, :, :3], [(0, 1), (0, 0), (1, 0), (0, 0)], constant_values=2),
        ),
        (row(0, 0, 0, 0, 0, 0, 0, -1), "SLICE", X[..., :4]),
        (row(-1, 0, 0, 0, 0, 0, -3, 0), "SLICE", X[1:, :, :1]),
    ],
)
def test_negative_pads_remove_elements(pads: Any, operations: str, expected: Any) -> None:
    compare(single("Pad", X, pads, np.float32(2)), X, operations, expected=expected)


@pytest.mark.parametrize(
    ("kind", "opset", "operations", "constants", "x"),
    [
        ("ReverseSequence", 9, "RESHAPE GATHER RESHAPE", (row(2, 1, 2),), X),
        ("Trilu", 13, "RESHAPE SELECT RESHAPE", (), X),
        ("EyeLike", 8, "CAST", (), X[0, 0]),
    ],
)
def test_defaults_hold_in_opsets_before_the_operator(
    kind: str, opset: int, operations: str, constants: Any, x: Any
) -> None:
    expected = reference(single(kind, x, *constants), x)
    compare(single(kind, x, *constants, opset=opset), x, operations, expected=expected)


FIRST = step("Transpose", perm=[0, 3, 1, 2])
"""The image of an NHWC input, which costs nothing."""
FLAT = step("Reshape", row(-1))
FIVE, SEVEN = step("Reshape", row(2, 3, 2, 2, 5)), step("Reshape", row(1, 2, 3, 2, 2, 1, 5))

CHAINS: list[tuple[str, tuple[Any, ...]]] = [
    ("RESHAPE RESHAPE", (step("Reshape", row(6, 20)), step("Reshape", row(24, 5)))),
    ("CAST", (FIRST, step("Transpose", perm=[0, 2, 3, 1]))),
    ("TRANSPOSE", (FIRST, step("Transpose", perm=[0, 2, 1, 3]))),
    ("TRANSPOSE", (FIRST, FIRST)),
    ("TRANSPOSE TRANSPOSE", (FIRST, FIRST, FIRST)),
    ("CONCATENATION TRANSPOSE", (FIRST, step("Concat", ".", axis=1))),
    ("CONCATENATION TRANSPOSE", (FIRST, step("Concat", ".", ".", axis=-1))),
    ("TRANSPOSE CONCATENATION", (FIRST, step("Concat", X.transpose(0, 3, 1, 2), axis=2))),
    ("PAD TRANSPOSE", (FIRST, step("Pad", row(0, 1, 2, 0, 0, 0, 3, 4)))),
    ("MIRROR_PAD TRANSPOSE", (FIRST, step("Pad", row(0, 1, 2, 0, 0, 0, 0, 3), mode="reflect"))),
    (
        "PAD DEPTH_TO_SPACE TRANSPOSE",
        (FIRST, step("Pad", row(0, 0, 0, 0, 0, 3, 0, 0)), step("DepthToSpace", blocksize=2)),
    ),
    ("RESHAPE TRANSPOSE RESHAPE", (FIVE, step("Transpose", perm=[3, 4, 2, 0, 1]), FLAT)),
    ("RESHAPE TRANSPOSE RESHAPE", (FIVE, step("Transpose", perm=[4, 2, 0, 3, 1]), FLAT)),
    ("RESHAPE RESHAPE CONCATENATION RESHAPE", (FIVE, step("Concat", ".", axis=2), FLAT)),
    ("RESHAPE TILE RESHAPE", (FIVE, step("Expand", row(3, 1, 1, 1, 1, 1)), FLAT)),
    ("RESHAPE TILE RESHAPE", (SEVEN, step("Expand", row(1, 1, 1, 1, 1, 4, 5)), FLAT)),
    ("RESHAPE TILE RESHAPE", (FIVE, step("Tile", row(1, 2, 3, 1, 1)), FLAT)),
]


@each_row(("operations", "nodes"), CHAINS)
def test_elements_move_within_images_and_beyond_nnapi_s_rank(operations: str, nodes: Any) -> None:
    compare(chain(X, *nodes), X, operations)


SPLITS: list[tuple[str, int, int, Any]] = [
    ("SLICE SLICE SLICE CONCATENATION", 3, 3, row(2, 1, 2)),
    ("SPLIT CONCATENATION", 2, 2, None),
    ("SPLIT CONCATENATION", -3, 3, row(1, 1, 1)),
    ("SLICE SLICE CONCATENATION", 3, 2, None),
    ("SLICE SLICE SLICE CONCATENATION", 3, 3, None),
]


@pytest.mark.parametrize(("operations", "axis", "count", "sizes"), SPLITS)
@pytest.mark.parametrize("is_image", [False, True])
def test_pieces_are_cut(operations: str, axis: int, count: int, sizes: Any, is_image: bool) -> None:
    """The pieces are concatenated in the other order; an image is split as it is stored."""
    pieces = [f"p{i}" for i in range(count)]
    x = X.transpose(0, 2, 3, 1) if is_image else X
    nodes = [helper.make_node("Transpose", ["x"], ["i"], perm=[0, 3, 1, 2])] if is_image else []
    options: dict[str, Any] = {} if sizes is not None else {"num_outputs": count}
    names = ["i" if is_image else "x", *(["s"] if sizes is not None else [])]
    nodes += [
        helper.make_node("Split", names, pieces, axis=axis, **options),
        helper.make_node("Concat", pieces[::-1], ["y"], axis=axis),
    ]
    wanted = operations + " TRANSPOSE" if is_image else operations
    compare(made(nodes, {"s": sizes} if sizes is not None else {}, x, opset=18), x, wanted)


REFUSED: list[tuple[str, Any, tuple[Any, ...], dict[str, Any], str]] = [
    ("Reshape", X, (row(2, 3, 4, 5, 0),), {}, "a 0 beyond the input's rank"),
    ("Reshape", X, (row(2, 3, 4, 5, 1, 0),), {}, "a 0 beyond the input's rank"),
    ("Reshape", X, (row(0, 1),), {"allowzero": 1}, "its result has no elements"),
    ("Reshape", X, (row(7, -1),), {}, r"\[2, 3, 4, 5\] does not reshape to \[7, -1\]"),
    ("Reshape", X, (row(-2, -1),), {}, r"\[2, 3, 4, 5\] does not reshape to \[-2, -1\]"),
    ("Squeeze", X, (row(1),), {}, r"it drops axes of \[2, 3, 4, 5\] whose size is not 1"),
    ("Squeeze", X, (row(4),), {}, "axis 4 is outside rank 4"),
    ("Transpose", X, (), {"perm": [0, 1, 1, 2]}, r"\[0, 1, 1, 2\] is not an order of 4 axes"),
    ("Tile", INTS, (row(1, 2),), {}, "2 repeats for rank 3"),
    ("Tile", X.reshape(2, 1, 3, 2, 2, 1, 5), (row(2, 3, 1, 2, 1, 2, 1),), {}, "it repeats along too many axes"),
    ("EyeLike", X[0, 0], (), {"dtype": 8}, "it is of type 8, which NNAPI does not have"),
    ("ReverseSequence", X, (row(1, 1, 1),), {"time_axis": 2}, "its axes are not the first two"),
    ("ReverseSequence", X, (row(1, 1),), {}, "2 lengths for 3 rows"),
    ("ReverseSequence", X, (row(1, 3, 2),), {}, r"a length of \[1, 3, 2\] is outside 0..2"),
    ("ReverseSequence", X, (row(1, -1, 2),), {}, r"a length of \[1, -1, 2\] is outside 0..2"),
    ("DepthToSpace", X, (), {"blocksize": 2}, "blocks of 2 from 3 channels"),
    ("DepthToSpace", X, (), {"blocksize": 0}, "blocks of 0 from 3 channels"),
    ("Pad", X, (row(1, 1),), {"mode": "mirror"}, "its mode is mirror, must be constant, reflect, edge or wrap"),
    ("Pad", X, (row(1, 1),), {}, "2 pads for 4 axes"),
    ("Pad", X, (row(0, 0, 0, -2, 0, 0, 0, -3),), {}, "its result has no elements"),
]


@each_row(("kind", "x", "constants", "options", "reason"), REFUSED)
def test_contradictions_are_refused(kind: str, x: Any, constants: Any, options: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, *constants, **options))


@pytest.mark.parametrize(("count", "sizes"), [(2, row(2, 2)), (3, row(3, 2)), (2, row(1, 1, 3))])
def test_pieces_that_are_not_the_whole_are_refused(count: int, sizes: Any) -> None:
    pieces = [f"p{i}" for i in range(count)]
    nodes = [helper.make_node("Split", ["x", "s"], pieces, axis=3), helper.make_node("Concat", pieces, ["y"], axis=3)]
    with pytest.raises(BadDataError, match=f"of 5 in {count} outputs"):
        loaded(nodes, {"s": sizes})


@pytest.mark.parametrize(
    ("kind", "x", "constants", "count"),
    [
        ("EyeLike", X[0, 0], (), 8 * 4 * 5),
        ("Trilu", X[0, 0], (), 2 * 4 * 5),
        ("ReverseSequence", X, (row(1, 1, 1),), 4 * 2 * 3),
    ],
)
def test_bytes_of_new_constants_are_counted(
    kind: str, x: Any, constants: Any, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = single(kind, x, *constants)
    for missing in (0, 1):
        monkeypatch.setattr("nnapi.importers.onnx.scope.MADE_UP", count - MADE_UP_PER_BYTE * len(content) - missing)
        if not missing:
            nnapi.load(content)
            continue
        with pytest.raises(BadDataError, match=f"it would take {count} bytes of constants"):
            nnapi.load(content)


def test_neighbors_of_rank_3_are_joined_as_they_are() -> None:
    compare(chain(X[0], step("Concat", ".", axis=1)), X[0], "CONCATENATION")


def test_a_constant_too_large_to_fold_has_the_value_of_the_file() -> None:
    value = numpy_helper.from_array(np.array([3.5], np.float32))
    nodes = [
        helper.make_node("ConstantOfShape", ["n"], ["w"], value=value),
        helper.make_node("Gather", ["w", "i"], ["two"]),
        helper.make_node("Add", ["x", "two"], ["y"]),
    ]
    x, constants = np.array([1, 2], np.float32), {"n": row((1 << 24) + 1), "i": row(0, -1)}
    assert computed(loaded(nodes, constants, x=x), x).tolist() == [4.5, 5.5]
    nodes[0] = helper.make_node("ConstantOfShape", ["n"], ["w"])
    assert computed(loaded(nodes, constants, x=x), x).tolist() == [1, 2]


QUANTIZED = (
    step("QuantizeLinear", np.float32(0.25), np.uint8(3)),
    step("DequantizeLinear", np.float32(0.25), np.uint8(3)),
)


def test_quantized_values_are_padded_by_a_float_value() -> None:
    pads = row(0, 0, 1, 0, 0, 0, 0, 2)
    content = chain(abs(X), *QUANTIZED, step("Pad", pads, np.float32(2.5)), opset=21)
    compare(content, abs(X), f"{QUANTIZE} PAD_V2 DEQUANTIZE")
    for value, refused in ((63, False), (63.5, True), (-0.75, False), (-1, True)):
        content = chain(X, *QUANTIZED, step("Pad", pads, np.float32(value)))
        if not refused:
            nnapi.load(content)
            continue
        with pytest.raises(BadDataError, match=f"it pads with {value:g}, outside the range of its quantized type"):
            nnapi.load(content)


def test_quantized_values_of_one_scale_stay_quantized_where_they_are_joined() -> None:
    content = chain(X, *QUANTIZED, step("Concat", ".", axis=1), opset=21)
    compare(content, X, f"{QUANTIZE} CONCATENATION DEQUANTIZE")


def test_blocks_of_reordered_channels_are_taken_apart_again() -> None:
    nodes = step("DepthToSpace", blocksize=2, mode="CRD"), step("SpaceToDepth", blocksize=2, mode="CRD")
    operations = "TRANSPOSE GATHER DEPTH_TO_SPACE SPACE_TO_DEPTH GATHER TRANSPOSE"
    compare(chain(BLOCKS, *nodes), BLOCKS, operations, expected=BLOCKS)


@pytest.mark.parametrize("is_quantized", [False, True])
def test_quantized_values_of_two_scales_are_joined_into_a_third(is_quantized: bool) -> None:
    nodes = []
    for name, scale, zero in (("a", "s", "z"), ("b", "t", "o")):
        nodes.append(helper.make_node("QuantizeLinear", ["x", scale, zero], [f"q{name}"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"q{name}", scale, zero], [name]))
    nodes.append(helper.make_node("Concat", ["a", "b"], ["c" if is_quantized else "y"], axis=1))
    constants = {"s": np.float32(0.25), "t": np.float32(0.5), "z": np.uint8(3), "o": np.uint8(7)}
    if is_quantized:
        nodes.append(helper.make_node("QuantizeLinear", ["c", "u", "p"], ["y"]))
        constants |= {"u": np.float32(1), "p": np.uint8(1)}
    x = np.array([[0, 1, 3, 7]], np.float32)
    rest = f"{QUANTIZE} CONCATENATION" if is_quantized else f"DEQUANTIZE {QUANTIZE} DEQUANTIZE CONCATENATION"
    compare(made(nodes, constants, x, opset=21), x, f"{QUANTIZE} {rest}")


@pytest.mark.parametrize(("wanted", "expected"), [([2, -1], (2, 6)), ([0, 4], (3, 4)), ([-1, 0], (3, 4))])
def test_a_shape_that_is_an_input(wanted: list[int], expected: tuple[int, ...]) -> None:
    value, shape = helper.make_tensor_value_info, np.array(wanted, np.int32)
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"]), helper.make_node("Relu", ["r"], ["y"])]
    ends = [value("x", onnx.TensorProto.FLOAT, [3, 4]), value("shape", onnx.TensorProto.INT64, [2])]
    graph = helper.make_graph(nodes, "g", ends, [value("y", onnx.TensorProto.FLOAT, None)])
    model = nnapi.load(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    x = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
    (found,) = nnapi.compile(model, "nnapi-reference").run(x, shape)
    np.testing.assert_array_equal(found, np.maximum(x, 0).reshape(expected))
