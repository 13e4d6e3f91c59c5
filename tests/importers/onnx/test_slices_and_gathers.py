"""Slices, gathers, arg max, top k and one-hot beside numbers that are written down."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode as O  # noqa: E402
from nnapi.model.dynamic_model import DynamicModel  # noqa: E402
from tests.importers.onnx.literal_cases import check_made_up, file_of, node, reasons, results  # noqa: E402

X = np.arange(24).reshape(2, 3, 4)
INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1


def codes(nodes: list[Any], inputs: dict[str, Any], constants: dict[str, Any]) -> list[int]:
    return [call.code for call in nnapi.load(file_of(nodes, inputs, constants)).operations]


def bounds(starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> tuple[str, dict[str, Any]]:
    given = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
    names = [name if values is not None else "-" for name, values in given.items()]
    return " ".join(names), {name: np.array(values) for name, values in given.items() if values is not None}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (([1], [2]), X[1:2]),
        (([0, 1], [2, 3]), X[:, 1:]),
        (([0, 0, 1], [2, 1, -1]), X[:, :1, 1:-1]),
        (([-3], [-1], [2]), X[:, :, 1:3]),
        (([1, 0], [9, INT32_MAX], [-1, -2]), X[:, :, 1:]),
        (([-9, 1], [2, 2], [1, 0]), X[1:2, :2]),
        (([0], [INT64_MAX], [2], [2]), X[:, :, ::2]),
        (([1], [INT32_MAX], [2], [2]), X[:, :, 1::2]),
        (([0], [3], [2], [2]), X[:, :, :3:2]),
        (([3], [0], [2], [-1]), X[:, :, 3:0:-1]),
        (([-1], [-INT64_MAX], [1], [-1]), X[:, ::-1]),
        (([-1], [-(2**31)], [0], [-1]), X[::-1]),
        (([9], [-9], [2], [-3]), X[:, :, ::-3]),
        (([2, 3], [0, -INT32_MAX], [1, 2], [-1, -2]), X[:, 2:0:-1, ::-2]),
        (([0, 0, 1], [1, 3, 4], [0, 1, 2], [1, 2, 1]), X[:1, ::2, 1:]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_a_slice_by_bounds_axes_and_steps(given: Any, expected: Any, dtype: Any) -> None:
    names, constants = bounds(*given)
    assert results([node("Slice", f"x {names}")], {"x": X.astype(dtype)}, constants) == [expected.tolist()]


def test_the_operations_of_a_slice() -> None:
    """Int32 values have no strided slice; a whole axis needs no operation."""
    for dtype, given, expected in (
        (np.float32, ([1], [3], [2]), [O.SLICE]),
        (np.float32, ([0, 1], [INT32_MAX, 2], [0, 1]), [O.SLICE]),
        (np.float32, ([0], [3], [2], [2]), [O.STRIDED_SLICE]),
        (np.float32, ([1, 0], [3, 9], [1, 2], [1, 3]), [O.SLICE, O.STRIDED_SLICE]),
        (np.int32, ([1], [3], [2]), [O.SLICE]),
        (np.int32, ([0], [3], [2], [2]), [O.GATHER]),
    ):
        names, constants = bounds(*given)
        assert codes([node("Slice", f"x {names}")], {"x": X.astype(dtype)}, constants) == expected


@pytest.mark.parametrize("given", [([1], [1], [2]), ([3], [1], [2]), ([3], [INT32_MAX], [2], [-1])])
def test_bounds_between_which_nothing_lies(given: Any) -> None:
    names, constants = bounds(*given)
    assert results([node("Slice", f"x {names}")], {"x": X.astype(np.float32)}, constants) == [X[:, :, :0].tolist()]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (([0], [3], [2], [0]), "its step is 0"),
        (([0], [3], [3]), "axis 3 is outside rank 3"),
        (([0], [3], [-4]), "axis -4 is outside rank 3"),
        (([0, 1], [3], [2]), "its bounds are of different lengths"),
        (([0], [3, 4], [2]), "its bounds are of different lengths"),
        (([0], [3], [2, 1]), "its bounds are of different lengths"),
        (([0], [3], [2], [1, 1]), "its bounds are of different lengths"),
    ],
)
def test_bounds_that_do_not_fit(given: Any, reason: str) -> None:
    names, constants = bounds(*given)
    assert reasons([node("Slice", f"x {names}")], {"x": X.astype(np.float32)}, constants) == [reason]


def test_bounds_are_attributes_before_opset_10() -> None:
    x = X.astype(np.float32)
    assert results([node("Slice", "x", starts=[1], ends=[3], axes=[-1])], {"x": x}, opset=9) == [X[:, :, 1:3].tolist()]
    assert results([node("Slice", "x", starts=[0, 2], ends=[1, 9])], {"x": x}, opset=6) == [X[:1, 2:].tolist()]


def dynamic(nodes: list[Any], shape: list[Any], constants: dict[str, Any]) -> Any:
    """A model of an input with a dynamic dimension."""
    proto = onnx.load_from_string(file_of(nodes, {"x": X.astype(np.float32)}, constants))
    proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    return nnapi.load(proto.SerializeToString())


@pytest.mark.parametrize(
    ("given", "is_static"),
    [
        (([0, 1], [INT32_MAX, 3], [1, 2]), True),
        (([0, 1], [INT64_MAX, 3], [1, 2], [1, 1]), True),
        (([0, 1], [INT32_MAX - 1, 3], [1, 2]), False),
        (([1, 1], [INT32_MAX, 3], [1, 2]), False),
        (([0, 1], [INT32_MAX, 3], [1, 2], [2, 1]), False),
    ],
)
def test_only_a_whole_dynamic_axis_may_be_sliced(given: Any, is_static: bool) -> None:
    names, constants = bounds(*given)
    model = dynamic([node("Slice", f"x {names}")], [2, "n", 4], constants)
    assert isinstance(model, DynamicModel) is not is_static
    (start, _), (_, end), _, (step, _) = (*given, [1, 1])[:4]
    (found,) = nnapi.compile(model, "nnapi-reference").run(X.astype(np.float32))
    assert found.tolist() == X[:, start::step, 1:end].tolist()


def test_channels_of_an_image_are_sliced_and_gathered_as_they_are_stored() -> None:
    """The result of a convolution stays NHWC; only the input and the output are transposed."""
    x = np.arange(24, dtype=np.float32).reshape(1, 3, 2, 4)
    filters = {"w": np.array([[1, 0, 0], [0, 2, 0], [0, 0, 3]], np.float32)[..., None, None]}
    scaled = x * np.array([1, 2, 3]).reshape(1, 3, 1, 1)
    for names, constants, expected in (
        (*bounds([1], [3], [1]), scaled[:, 1:]),
        (*bounds([0, 3], [1, -9], [2, 3], [1, -2]), scaled[:, :, :1, ::-2]),
        ("i", {"i": np.array([2, 0])}, scaled[:, [2, 0]]),
        ("i", {"i": np.array(-1)}, scaled[:, 2]),
        ("i", {"i": np.array([[2, 0], [1, -1]])}, scaled[:, [[2, 0], [1, 2]]]),
    ):
        part = node("Gather", "c i", axis=1) if names == "i" else node("Slice", f"c {names}")
        nodes = [node("Conv", "x w", "c"), part]
        assert results(nodes, {"x": x}, {**filters, **constants}) == [expected.tolist()]
        if expected.ndim == 4:
            assert codes(nodes, {"x": x}, {**filters, **constants}).count(O.TRANSPOSE) == 2


# Gather


@pytest.mark.parametrize(
    ("options", "indices", "expected"),
    [
        ({}, [1, 0, 1], X[[1, 0, 1]]),
        ({"axis": 1}, [2, 0], X[:, [2, 0]]),
        ({"axis": -1}, [-1, 3, -4], X[:, :, [3, 3, 0]]),
        ({"axis": 2}, -2, X[:, :, 2]),
        ({"axis": 1}, [[0, 2], [-1, 1]], X[:, [[0, 2], [2, 1]]]),
        ({"axis": 1}, [[[0, -2]]], X[:, [[[0, 1]]]]),
        ({"axis": 2}, [[[0, 3]], [[-4, 2]]], X[:, :, [[[0, 3]], [[0, 2]]]]),
    ],
)
@pytest.mark.parametrize("is_computed", [False, True])
def test_a_gather_along_an_axis(options: Any, indices: Any, expected: Any, is_computed: bool) -> None:
    """Up to rank 4 it is one operation; results beyond are reshaped by another node here."""
    inputs, constants = {"x": X.astype(np.float32)}, {"row": np.array([-1])}
    (inputs if is_computed else constants)["i"] = np.array(indices)
    nodes = [node("Gather", "x i", "g", **options), node("Reshape", "g row")]
    assert results(nodes, inputs, constants) == [expected.reshape(-1).tolist()]
    gather = node("Gather", "x i", **options)
    if not is_computed and np.ndim(indices) and expected.ndim <= 4:
        assert codes([gather], inputs, constants) == [O.GATHER]
        assert results([gather], inputs, constants) == [expected.tolist()]


@pytest.mark.parametrize(("index", "is_read"), [(2, True), (3, False), (-3, True), (-4, False)])
def test_constant_indices_lie_within_their_axis(index: int, is_read: bool) -> None:
    x, constants = {"x": X.astype(np.float32)}, {"i": np.array([0, index])}
    for gather in (node("Gather", "x i", axis=1), node("GatherND", "x j", "y")):
        given = constants if gather.op_type == "Gather" else {"j": np.array([[0, index]])}
        if is_read:
            assert len(results([gather], x, given)) == 1
        else:
            assert reasons([gather], x, given) == ["an index is outside 3"]


@pytest.mark.parametrize(("indices", "is_static"), [([0, 1], True), ([2, -1], False)])
def test_indices_into_a_dynamic_axis(indices: list[int], is_static: bool) -> None:
    model = dynamic([node("Gather", "x i", axis=1)], [2, "n", 4], {"i": np.array(indices)})
    assert isinstance(model, DynamicModel) is not is_static
    (found,) = nnapi.compile(model, "nnapi-reference").run(X.astype(np.float32))
    assert found.tolist() == X[:, indices].tolist()


def test_computed_indices_into_a_dynamic_axis_have_a_note() -> None:
    given = [helper.make_tensor_value_info(*each) for each in (("x", 1, [2, "n"]), ("i", 6, [3]))]
    graph = helper.make_graph([node("Gather", "x i", axis=1)], "g", given, [onnx.ValueInfoProto(name="y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model = nnapi.load(proto.SerializeToString())
    assert model.notes == ("computed indices must not be negative",)
    x, i = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32), np.array([3, 0, 1], np.int32)
    assert nnapi.compile(model, "nnapi-reference").run(x, i)[0].tolist() == [[4, 1, 2], [8, 5, 6]]


@pytest.mark.parametrize(
    ("options", "indices", "expected"),
    [
        ({}, [[1, 0, 1]], [[10, 2, 12]]),
        ({"axis": 0}, [[-1, 1], [0, -2]], [[10, 11], [1, 2]]),
        ({"axis": 1}, [[2, 0], [-1, 1]], [[3, 1], [12, 11]]),
        ({"axis": -1}, [[0, 0, 1, 2, -3]], [[1, 1, 2, 3, 1]]),
    ],
)
@pytest.mark.parametrize("is_computed", [False, True])
def test_elements_are_gathered_along_an_axis(options: Any, indices: Any, expected: Any, is_computed: bool) -> None:
    inputs: dict[str, Any] = {"x": np.array([[1, 2, 3], [10, 11, 12]], np.float32)}
    constants: dict[str, Any] = {}
    (inputs if is_computed else constants)["i"] = np.array(indices)
    assert results([node("GatherElements", "x i", **options)], inputs, constants) == [expected]


def test_elements_of_three_axes_are_gathered() -> None:
    indices = np.array([[[0, 2, 1], [2, 2, 0]]])
    found = results([node("GatherElements", "x i", axis=1)], {"x": X.astype(np.float32)}, {"i": indices})
    assert found == [[[[0, 9, 6], [8, 9, 2]]]]


@pytest.mark.parametrize(
    ("batch", "indices", "expected"),
    [
        (0, [[1], [0]], X[[1, 0]]),
        (0, [[0, 2], [-1, 1]], X[[0, 1], [2, 1]]),
        (0, [[[0, 2, 3]], [[1, -3, -1]]], [[X[0, 2, 3]], [X[1, 0, 3]]]),
        (1, [[2], [0]], [X[0, 2], X[1, 0]]),
        (1, [[[2, 3], [0, 1]], [[1, 1], [-1, 0]]], [[X[0, 2, 3], X[0, 0, 1]], [X[1, 1, 1], X[1, 2, 0]]]),
        (2, [[[0], [1], [2]], [[3], [2], [-3]]], [[0, 5, 10], [15, 18, 21]]),
    ],
)
def test_rows_are_gathered_by_coordinates(batch: int, indices: Any, expected: Any) -> None:
    gather = node("GatherND", "x i", batch_dims=batch)
    wanted = np.array(expected).tolist()
    assert results([gather], {"x": X.astype(np.float32)}, {"i": np.array(indices)}) == [wanted]
    assert results([gather], {"x": X.astype(np.float32), "i": np.array(indices)}) == [wanted]


@pytest.mark.parametrize(
    ("batch", "shape", "reason"),
    [
        (0, (2, 4), "it has 4 indices for rank 3"),
        (1, (2, 3), "it has 3 indices for rank 3"),
        (0, (2, 0), "it has 0 indices for rank 3"),
    ],
)
def test_coordinates_of_too_many_axes(batch: int, shape: tuple[int, ...], reason: str) -> None:
    indices = {"i": np.zeros(shape, np.int64)}
    found = reasons([node("GatherND", "x i", batch_dims=batch)], {"x": X.astype(np.float32)}, indices)
    assert found == [reason]


@pytest.mark.parametrize(
    ("gather", "count"),
    [
        (node("Slice", "x starts ends axes steps"), 4 * 2),
        (node("GatherND", "f i", batch_dims=1), 4 * 2),
        (node("OneHot", "x depth values"), 4 * 7 + 2 * 4),
    ],
)
def test_constants_that_an_operator_makes_are_counted(gather: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of int32 values that are sliced are the indices of a gather."""
    constants = {
        **bounds([0], [4], [2], [2])[1],
        "i": np.array([[2], [0]]),
        "depth": np.array(7),
        "values": np.array([0, 1], np.float32),
    }
    constants = {name: each for name, each in constants.items() if name in gather.input}
    inputs = {"f": X.astype(np.float32)} if "f" in gather.input else {"x": X.astype(np.int32)}
    content = file_of([gather], inputs, constants)
    check_made_up(content, count, monkeypatch)


# The largest


TIES = np.array([[3, 1, 3], [4, 4, 1], [2, 5, 5], [4, 0, 5]], np.float32)


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        ("ArgMax", {}, [[1, 2, 2]]),
        ("ArgMax", {"axis": 0, "keepdims": 0}, [1, 2, 2]),
        ("ArgMax", {"axis": 1}, [[0], [0], [1], [2]]),
        ("ArgMax", {"axis": -1, "keepdims": 0}, [0, 0, 1, 2]),
        ("ArgMin", {"axis": 1, "keepdims": 0}, [1, 2, 0, 1]),
        ("ArgMin", {}, [[2, 3, 1]]),
        ("ArgMax", {"axis": 1, "keepdims": 0, "select_last_index": 1}, [2, 1, 2, 2]),
        ("ArgMax", {"axis": 0, "select_last_index": 1}, [[3, 2, 3]]),
        ("ArgMax", {"axis": -2, "select_last_index": 0}, [[1, 2, 2]]),
    ],
)
def test_positions_of_the_largest_and_smallest(kind: str, options: Any, expected: Any) -> None:
    assert results([node(kind, "x", **options)], {"x": TIES}) == [expected]
    if "select_last_index" not in options:
        assert results([node(kind, "x", **options)], {"x": TIES}, opset=11) == [expected]


DISTINCT = np.array([[[5, 2, 9], [1, 7, 3]], [[8, 4, 0], [6, 11, 10]]], np.float32)


@pytest.mark.parametrize(
    ("options", "k", "values", "places"),
    [
        ({}, 2, [[[9, 5], [7, 3]], [[8, 4], [11, 10]]], [[[2, 0], [1, 2]], [[0, 1], [1, 2]]]),
        ({"axis": 1}, 1, [[[5, 7, 9]], [[8, 11, 10]]], [[[0, 1, 0]], [[0, 1, 1]]]),
        (
            {"axis": 0, "largest": 1},
            2,
            [[[8, 4, 9], [6, 11, 10]], [[5, 2, 0], [1, 7, 3]]],
            [[[1, 1, 0], [1, 1, 1]], [[0, 0, 1], [0, 0, 0]]],
        ),
        ({"axis": -1, "largest": 0}, 1, [[[2], [1]], [[0], [6]]], [[[1], [0]], [[2], [0]]]),
        ({"axis": -2, "largest": 0}, 1, [[[1, 2, 3]], [[6, 4, 0]]], [[[1, 0, 1]], [[1, 0, 0]]]),
    ],
)
def test_the_first_of_an_axis_in_order(options: Any, k: int, values: Any, places: Any) -> None:
    """Before opset 10, k is an attribute; before opset 11, all are the largest."""
    found = results([node("TopK", "x k", "y i", **options)], {"x": DISTINCT}, {"k": np.array([k])}, "y i")
    assert found == [values, places]
    if not options.get("largest"):
        found = results([node("TopK", "x k", "y i", **options)], {"x": DISTINCT}, {"k": np.array(k)}, "y i", 11)
        assert found == [values, places]
    if "largest" not in options:
        old = [node("TopK", "x k", "y i", **options)]
        assert results(old, {"x": DISTINCT}, {"k": np.array([k])}, "y i", 10) == [values, places]
        assert results([node("TopK", "x", "y i", k=k, **options)], {"x": DISTINCT}, {}, "y i", 9) == [values, places]


@pytest.mark.parametrize(("k", "read"), [([0], 0), ([-1], -1), ([1, 1], 0)])
def test_k_is_one_number_above_0(k: Any, read: int) -> None:
    found = reasons([node("TopK", "x k", "y i")], {"x": DISTINCT}, {"k": np.array(k)})
    assert found == [f"k is {read}, must be at least 1"]


# Selection


@pytest.mark.parametrize(
    ("options", "indices", "expected"),
    [
        ({}, [2, 0, -1], [[5, 5, 8], [8, 5, 5], [5, 5, 8]]),
        ({"axis": -1}, [1], [[5, 8, 5]]),
        ({"axis": 0}, [2, 0], [[5, 8], [5, 5], [8, 5]]),
        ({"axis": 1}, [[0, -3], [2, 9]], [[[8, 8], [5, 5], [5, 5]], [[5, 5], [5, 5], [8, 5]]]),
        ({"axis": -2}, [[0, 1]], [[[8, 5], [5, 8], [5, 5]]]),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_ones_at_indices(options: Any, indices: Any, expected: Any, dtype: Any) -> None:
    """The values are 5 elsewhere and 8 at the index; indices outside are nowhere."""
    constants = {"depth": np.array([3]), "values": np.array([5, 8], np.float32)}
    chosen = node("OneHot", "x depth values", **options)
    assert results([chosen], {"x": np.array(indices, dtype)}, constants) == [expected]


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_is_above_0(depth: int) -> None:
    constants = {"depth": np.array(depth), "values": np.array([0, 1], np.float32)}
    found = reasons([node("OneHot", "x depth values")], {"x": np.array([1])}, constants)
    assert found == [f"depth is {depth}, must be at least 1"]


@pytest.mark.parametrize("dtype", [np.float32, np.int32, bool])
def test_a_choice_of_each_element(dtype: Any) -> None:
    condition, x, z = np.array([[True], [False]]), np.array([1, 0, 3], dtype), np.array([[0, 5, 0], [7, 0, 9]], dtype)
    wanted = np.where(condition, x, z).tolist()
    assert wanted == np.array([[1, 0, 3], [7, 0, 9]], dtype).tolist()
    assert results([node("Where", "c x z")], {"c": condition, "x": x, "z": z}) == [wanted]
