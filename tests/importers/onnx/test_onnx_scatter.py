"""Scatter operators with constant and computed indices along every axis."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from tests.engines import DEVICES, find_device  # noqa: E402
from tests.importers.onnx.operator_cases import X, compare, computed, loaded, made, reference, single  # noqa: E402

RANDOM = np.random.default_rng(9)


def distinct(shape: tuple[int, ...], axis: int, size: int) -> Any:
    """Indices along an axis, none of them twice in its line; some count from the end."""
    lines = np.argsort(RANDOM.random((*shape[:axis], size, *shape[axis + 1 :])), axis)
    found = np.take(lines, range(shape[axis]), axis)
    return np.where(found % 2, found - size, found)


def scattered(data: Any, axis: int, indices: Any, updates: Any) -> Any:
    found = data.copy()
    np.put_along_axis(found, indices, updates, axis)
    return found


ELEMENTS = [((2, 3, 4, 5), 0), ((2, 3, 4, 5), 2), ((2, 3, 4, 5), -1), ((4, 5), 1), ((7,), 0)]


@pytest.mark.parametrize(("shape", "axis"), ELEMENTS)
@pytest.mark.parametrize("is_computed", [False, True])
def test_elements_are_written_along_an_axis(shape: Any, axis: int, is_computed: bool) -> None:
    """Computed indices are an input; one fewer along the axis than there are elements."""
    data = RANDOM.normal(size=shape).astype(np.float32)
    first = axis % len(shape)
    own = (*shape[:first], shape[first] - 1, *shape[first + 1 :])
    indices, updates = distinct(own, first, shape[first]), RANDOM.normal(size=own).astype(np.float32)
    expected = scattered(data, first, indices, updates)
    if is_computed:
        x = indices.astype(np.int32)
        node, constants = helper.make_node("ScatterElements", ["d", "x", "u"], ["y"], axis=axis), {"d": data}
    else:
        x = data
        node, constants = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=axis), {"i": indices}
    np.testing.assert_array_equal(computed(loaded([node], constants | {"u": updates}, x=x), x), expected)


@pytest.mark.parametrize(("shape", "axis"), [((2, 2, 3, 2, 4), 2), ((3, 2, 2, 2, 2), 0)])
def test_elements_of_five_axes_are_written_to_computed_indices(shape: Any, axis: int) -> None:
    data = RANDOM.normal(size=shape).astype(np.float32)
    own = (*shape[:axis], shape[axis] - 1, *shape[axis + 1 :])
    indices, updates = distinct(own, axis, shape[axis]), RANDOM.normal(size=own).astype(np.float32)
    nodes = [
        helper.make_node("Reshape", ["x", "own"], ["i"]),
        helper.make_node("ScatterElements", ["d", "i", "u"], ["z"], axis=axis),
        helper.make_node("Reshape", ["z", "flat"], ["y"]),
    ]
    constants = {"own": np.array(own), "d": data, "u": updates, "flat": np.array([-1])}
    x = indices.astype(np.int32).reshape(-1)
    found = computed(loaded(nodes, constants, x=x), x)
    np.testing.assert_array_equal(found, scattered(data, axis, indices, updates).reshape(-1))


def test_the_last_of_several_updates_of_an_element_remains() -> None:
    x = np.array([[1, 1, 3, 1], [0, -1, 3, 2]], np.int32)
    node = helper.make_node("ScatterElements", ["d", "x", "u"], ["y"], axis=1)
    constants = {"d": -np.ones((2, 4), np.float32), "u": np.arange(8, dtype=np.float32).reshape(2, 4)}
    expected = [[-1, 3, -1, 2], [4, -1, 7, 6]]
    assert computed(loaded([node], constants, x=x), x).tolist() == expected
    content = single("ScatterElements", constants["d"], x.astype(np.int64), constants["u"], axis=1)
    compare(content, constants["d"], "SCATTER_ELEMENTS", expected=expected)


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("is_computed", [False, True])
def test_rows_are_written_to_coordinates(depth: int, is_computed: bool) -> None:
    chosen = RANDOM.permutation(int(np.prod(X.shape[:depth])))[:2]
    indices = np.stack(np.unravel_index(chosen, X.shape[:depth]), -1).reshape(2, 1, depth)
    indices[0] -= X.shape[:depth]
    updates = RANDOM.normal(size=(2, 1, *X.shape[depth:])).astype(np.float32)
    expected = X.copy()
    expected[tuple(np.moveaxis(indices, -1, 0))] = updates
    x = indices.astype(np.int32) if is_computed else X
    names = ["d", "x", "u"] if is_computed else ["x", "i", "u"]
    constants = {"u": updates} | ({"d": X} if is_computed else {"i": indices})
    found = computed(loaded([helper.make_node("ScatterND", names, ["y"])], constants, x=x), x)
    np.testing.assert_array_equal(found, expected)


def test_the_first_axis_is_the_default_in_opsets_before_the_operator() -> None:
    x, u = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([[10, 20]], np.float32)
    found = computed(nnapi.load(single("Scatter", x, np.array([[2, 0]]), u, opset=8)), x)
    assert found.tolist() == [[0, 20], [2, 3], [10, 5]]


def test_without_indices_nothing_is_written() -> None:
    constants = np.zeros((2, 0, 4, 5), np.int64), np.zeros((2, 0, 4, 5), np.float32)
    np.testing.assert_array_equal(computed(nnapi.load(single("ScatterElements", X, *constants, axis=1))), X)


def test_elements_are_combined() -> None:
    x = np.array([1, 2, 3], np.float32)
    model = nnapi.load(
        single("ScatterElements", x, np.array([2, 0, 1]), np.array([10, 20, 30], np.float32), opset=18, reduction="add")
    )
    assert computed(model, x).tolist() == [21, 32, 13]
    assert " ".join(call.name for call in model.operations) == "SCATTER_ELEMENTS"


FOUR = np.zeros((4, 4), np.int64)


@pytest.mark.parametrize(
    ("kind", "indices", "options", "reason"),
    [
        ("ScatterElements", FOUR, {"axis": 1}, r"indices of \[4, 4\] for \[3, 5\]"),
        ("ScatterElements", np.zeros((3, 6), np.int64), {"axis": 0}, r"indices of \[3, 6\] for \[3, 5\]"),
        ("ScatterElements", FOUR[None], {}, r"indices of \[1, 4, 4\] for \[3, 5\]"),
        ("ScatterElements", FOUR[:1] + 3, {}, "an index is outside 3"),
        (
            "ScatterElements",
            FOUR[:1],
            {"reduction": "xor"},
            "its reduction is xor, must be none, add, mul, min, max",
        ),
        ("ScatterElements", FOUR[:1], {"axis": 2}, "axis 2 is outside rank 2"),
        ("ScatterND", FOUR[:, :3], {}, "it has 3 indices for rank 2"),
        ("ScatterND", FOUR[:, :0], {}, "it has 0 indices for rank 2"),
    ],
)
def test_constant_indices_that_do_not_fit_are_refused(kind: str, indices: Any, options: Any, reason: str) -> None:
    x = np.zeros((3, 5), np.float32)
    updates = np.zeros(indices.shape, np.float32)
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, indices, updates, opset=18, **options))


@pytest.mark.parametrize(
    ("data", "indices", "reason"),
    [
        ((3, 5), (1, 2, 5), r"indices of \[1, 2, 5\] for \[3, 5\]"),
        ((3, 5), (2, 6), r"indices of \[2, 6\] for \[3, 5\]"),
        ((3, 5, 2, 2, 2), (3, 4, 2, 2, 2), r"its computed indices \[3, 4, 2, 2, 2\] do not cover \[3, 5, 2, 2, 2\]"),
    ],
)
def test_computed_indices_that_do_not_fit_are_refused(data: Any, indices: Any, reason: str) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "own"], ["i"]),
        helper.make_node("ScatterElements", ["d", "i", "u"], ["y"], axis=0),
    ]
    constants = {"d": np.zeros(data, np.float32), "u": np.zeros(indices, np.float32), "own": np.array(indices)}
    with pytest.raises(BadDataError, match=reason):
        loaded(nodes, constants, 18, np.zeros(int(np.prod(indices)), np.int32))


REDUCTIONS = ["none", "add", "mul", "min", "max"]


@each_row("device", DEVICES)
@each_row("reduction", REDUCTIONS)
@each_row("kind", ["ScatterElements", "ScatterND"])
def test_random_scatters_agree_with_onnx(device: str, reduction: str, kind: str) -> None:
    """Computed and constant indices, some negative; fewer indices than there are elements along any axis."""
    random = np.random.default_rng(REDUCTIONS.index(reduction))
    for _ in range(4):
        shape = tuple(random.integers(1, 5, random.integers(1, 5)).tolist())
        data, rank = random.normal(size=shape).astype(np.float32), len(shape)
        options: dict[str, Any] = {"reduction": reduction}
        if kind == "ScatterElements":
            axis = int(random.integers(-rank, rank))
            own = tuple(int(random.integers(1, size + 1)) for size in shape)
            indices, options["axis"] = distinct(own, axis % rank, shape[axis]), axis
            if reduction != "none":
                indices = random.integers(-shape[axis], shape[axis], own)
            updates = random.normal(size=own).astype(np.float32)
        else:
            depth = int(random.integers(1, rank + 1))
            chosen = random.permutation(int(np.prod(shape[:depth])))[: random.integers(1, 5)]
            chosen = chosen if reduction == "none" else random.choice(chosen, 6)
            indices = np.stack(np.unravel_index(chosen, shape[:depth]), -1)
            indices -= random.integers(0, 2, indices.shape) * np.array(shape[:depth])
            updates = random.normal(size=(len(chosen), *shape[depth:])).astype(np.float32)
        for names, constants, x in (
            ("d x u", {"d": data, "u": updates}, indices),
            ("x i u", {"i": indices, "u": updates}, data),
            ("d i x", {"d": data, "i": indices}, updates),
        ):
            content = made([helper.make_node(kind, names.split(), ["y"], **options)], constants, x, opset=18)
            expected = reference(content, x)
            given = x.astype(np.int32) if x.dtype == np.int64 else x
            found = nnapi.compile(nnapi.load(content), find_device(device), cache=False).run(given)[0]
            np.testing.assert_allclose(found, expected, 2e-6, 1e-6)


def test_elements_of_five_axes_are_combined_at_constant_indices_that_cover_some() -> None:
    shape, own = (2, 3, 2, 2, 2), (2, 2, 1, 2, 1)
    x, updates = RANDOM.normal(size=48).astype(np.float32), RANDOM.normal(size=own).astype(np.float32)
    indices = RANDOM.integers(-3, 3, own)
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["d"]),
        helper.make_node("ScatterElements", ["d", "i", "u"], ["z"], axis=1, reduction="add"),
        helper.make_node("Reshape", ["z", "flat"], ["y"]),
    ]
    constants = {"i": indices, "u": updates, "shape": np.array(shape), "flat": np.array([-1])}
    content = made(nodes, constants, x, opset=18)
    np.testing.assert_allclose(computed(nnapi.load(content), x), reference(content, x), 1e-6)
