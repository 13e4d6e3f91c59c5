"""TAKE, GATHER_ELEMENTS, GATHER_ND, SCATTER_ELEMENTS, SCATTER_ND: kernel, decomposition and engines."""

import itertools
from typing import Any

import numpy as np
import pytest

from nnapi.errors import BadDataError, NnapiError, OpFailedError
from nnapi.lowering.expansion import expand
from nnapi.model.builder import Builder
from nnapi.model.operand import OperandType, tensor
from nnapi.ops.coordinates import Reduction
from nnapi.ops.index_checks import BadIndexError
from tests.ops.composite_cases import DECOMPOSED, WAYS, model_of, run
from tests.ops.tensor_cases import reals, rounded
from tests.rows import each_row

TYPES = {
    "float32": tensor("float32"),
    "float16": tensor("float16"),
    "int32": tensor("int32"),
    "quant8": tensor("quant8_asymm", (), 0.5, 10),
    "quant8_signed": tensor("quant8_asymm_signed", (), 0.25, -5),
}
COMBINE: dict[int, Any] = {
    Reduction.NONE: lambda old, new: new,
    Reduction.ADD: np.add,
    Reduction.MUL: np.multiply,
    Reduction.MIN: np.minimum,
    Reduction.MAX: np.maximum,
}
CASES = [
    *itertools.product(("float32", "int32"), Reduction),
    *itertools.product(("float16", "quant8", "quant8_signed"), (Reduction.NONE, Reduction.ADD)),
]
"""Types and reductions of scatters: the other reductions of these types compute as on float32."""
SIX = np.array([[1, 2, 3], [4, 5, 6]], np.float32)


def int32(values: Any) -> Any:
    return np.array(values, np.int32)


def made(operation: str, arrays: dict[str, Any], type: OperandType = TYPES["float32"], **fixed: Any) -> Any:
    """A model of an operation with tensors as inputs, and other arguments constant."""

    def make(b: Builder) -> Any:
        tensors = {}
        for name, array in arrays.items():
            own = tensor("int32") if name == "indices" else type
            tensors[name] = b.input(own.with_dimensions(array.shape), name)
        return getattr(b, operation)(**tensors, **fixed)

    return model_of(make)


@pytest.mark.parametrize("way", WAYS)
def test_literal(way: str) -> None:
    examples: list[tuple[str, dict[str, Any], dict[str, Any], Any]] = [
        ("take", {"indices": int32([-1, 0])}, {"axis": 1}, [[3, 1], [6, 4]]),
        ("gather_elements", {"indices": int32([[0, 1, -2]])}, {"axis": 0, "from_end": True}, [[1, 5, 3]]),
        ("gather_nd", {"indices": int32([[1, 2], [0, -3]])}, {"batch_dims": 0, "from_end": True}, [6, 1]),
        ("gather_nd", {"indices": int32([[2], [0]])}, {"batch_dims": 1, "from_end": False}, [3, 4]),
        (
            "scatter_elements",
            {"indices": int32([[2, -3], [1, 1]]), "updates": np.array([[10, 20], [30, 40]], np.float32)},
            {"axis": 1, "reduction": Reduction.ADD, "from_end": True},
            [[21, 2, 13], [4, 75, 6]],
        ),
        (
            "scatter_nd",
            {"indices": int32([[-1], [1]]), "updates": np.array([[7, 8, 9], [0, 0, 1]], np.float32)},
            {"reduction": Reduction.NONE, "from_end": True},
            [[1, 2, 3], [0, 0, 1]],
        ),
        (
            "scatter_nd",
            {"indices": int32([1, -1]), "updates": np.array([9], np.float32)},
            {"reduction": Reduction.NONE, "from_end": True},
            [[1, 2, 3], [4, 5, 9]],
        ),
    ]
    for operation, arrays, fixed, expected in examples:
        (found,) = run(made(operation, {"input": SIX, **arrays}, **fixed), way, SIX, *arrays.values())
        assert found.tolist() == expected, operation


def draw(random: Any, type: OperandType, shape: Any) -> Any:
    if type.dtype.kind == "f":
        return random.normal(size=shape).astype(type.dtype)
    limits = np.iinfo(np.int8) if type.dtype == np.int32 else np.iinfo(type.dtype)
    return random.integers(limits.min, limits.max, shape, type.dtype, endpoint=True)


def draw_shape(random: Any, most: int = 4) -> tuple[int, ...]:
    return tuple(random.integers(1, 5, random.integers(1, most + 1)).tolist())


def from_any_end(random: Any, indices: Any, sizes: Any, is_from_end: bool) -> Any:
    moved = indices - random.integers(0, 2, indices.shape) * np.array(sizes) if is_from_end else indices
    return moved.astype(np.int32)


@each_row("way", WAYS)
@each_row("kind", TYPES)
def test_elements_are_gathered(kind: str, way: str) -> None:
    random, type = np.random.default_rng(4), TYPES[kind]
    for is_from_end in (False, True):
        shape = draw_shape(random)
        axis, x = int(random.integers(-len(shape), len(shape))), draw(random, type, shape)
        own = [int(random.integers(1, size + 1)) for size in shape]
        own[axis] = int(random.integers(1, 6))
        indices = from_any_end(random, random.integers(0, shape[axis], own), shape[axis], is_from_end)
        expected = np.empty(own, type.dtype)
        for at in itertools.product(*map(range, own)):
            source = list(at)
            source[axis] = indices[at]
            expected[at] = x[tuple(source)]
        arrays = {"input": x, "indices": indices}
        model = made("gather_elements", arrays, type, axis=axis, from_end=is_from_end)
        np.testing.assert_array_equal(run(model, way, x, indices)[0], expected)


@each_row("way", WAYS)
@each_row("kind", TYPES)
def test_slices_are_gathered(kind: str, way: str) -> None:
    random, type = np.random.default_rng(5), TYPES[kind]
    for is_from_end in (False, True):
        shape = draw_shape(random, 3)
        depth = int(random.integers(1, len(shape) + 1))
        batch, x = int(random.integers(0, len(shape) - depth + 1)), draw(random, type, shape)
        own = (*shape[:batch], 3)
        sizes = shape[batch : batch + depth]
        indices = from_any_end(random, random.integers(0, sizes, (*own, depth)), sizes, is_from_end)
        expected = np.empty((*own, *shape[batch + depth :]), type.dtype)
        for at in np.ndindex(own):
            expected[at] = x[(*at[:batch], *indices[at])]
        arrays = {"input": x, "indices": indices}
        model = made("gather_nd", arrays, type, batch_dims=batch, from_end=is_from_end)
        np.testing.assert_array_equal(run(model, way, x, indices)[0], expected)


def scattered(type: OperandType, x: Any, updates: Any, reduction: int, positions: Any) -> Any:
    """Write updates one after another, on float values."""
    out, given = reals(type, x).copy(), reals(type, updates)
    for at, source in positions:
        out[at] = COMBINE[reduction](out[at], given[source])
    return rounded(type, out) if type.is_quantized else out


def assert_close(type: OperandType, found: Any, expected: Any) -> None:
    """Floats within the rounding of several steps; a quantized sum or product may be one step off."""
    if type.dtype == np.int32:
        np.testing.assert_array_equal(found, expected)
    else:
        within = 5e-3 if type.dtype == np.float16 else 1e-5
        step = 1 if type.is_quantized else within
        np.testing.assert_allclose(found.astype(float), expected.astype(float), within, step)


@each_row("way", WAYS)
@each_row(("kind", "reduction"), CASES)
def test_elements_are_scattered(kind: str, reduction: Reduction, way: str) -> None:
    """Several updates of an element, too: without a reduction, the last remains."""
    random, type = np.random.default_rng(reduction), TYPES[kind]
    is_from_end = reduction % 2 == 0
    shape = draw_shape(random, 3)
    axis, x = int(random.integers(-len(shape), len(shape))), draw(random, type, shape)
    own = [int(random.integers(1, size + 1)) for size in shape]
    indices = from_any_end(random, random.integers(0, shape[axis], own), shape[axis], is_from_end)
    updates, positions = draw(random, type, own), []
    for at in itertools.product(*map(range, own)):
        target = list(at)
        target[axis] = indices[at]
        positions.append((tuple(target), at))
    expected = scattered(type, x, updates, reduction, positions)
    arrays = {"input": x, "indices": indices, "updates": updates}
    fixed = {"axis": axis, "reduction": reduction, "from_end": is_from_end}
    model = made("scatter_elements", arrays, type, **fixed)
    assert_close(type, run(model, way, *arrays.values())[0], expected)


@each_row("way", WAYS)
@each_row(("kind", "reduction"), CASES)
def test_slices_are_scattered(kind: str, reduction: Reduction, way: str) -> None:
    random, type = np.random.default_rng(9 + reduction), TYPES[kind]
    is_from_end = reduction % 2 == 0
    shape = draw_shape(random, 3)
    depth, x = int(random.integers(1, len(shape) + 1)), draw(random, type, shape)
    indices = from_any_end(random, random.integers(0, shape[:depth], (2, 2, depth)), shape[:depth], is_from_end)
    updates = draw(random, type, (2, 2, *shape[depth:]))
    positions = [(tuple(indices[at]), at) for at in np.ndindex(2, 2)]
    expected = scattered(type, x, updates, reduction, positions)
    arrays = {"input": x, "indices": indices, "updates": updates}
    model = made("scatter_nd", arrays, type, reduction=reduction, from_end=is_from_end)
    assert_close(type, run(model, way, *arrays.values())[0], expected)


@pytest.mark.parametrize("way", WAYS)
def test_a_single_position(way: str) -> None:
    """Indices of rank 1 hold one position; a result or update of one element has rank 1."""
    for at, expected in ((int32([1, -2]), [5]), (int32([-1]), [4, 5, 6])):
        arrays = {"input": SIX, "indices": at}
        (found,) = run(made("gather_nd", arrays, batch_dims=0, from_end=True), way, SIX, at)
        assert found.tolist() == expected
        for reduction in (Reduction.NONE, Reduction.ADD):
            updates = np.full(len(expected), 10, np.float32)
            model = made("scatter_nd", {**arrays, "updates": updates}, reduction=reduction, from_end=True)
            written = SIX.copy()
            written[tuple(at)] = 10 + (written[tuple(at)] if reduction else 0)
            np.testing.assert_array_equal(run(model, way, SIX, at, updates)[0], written)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_from_end", [False, True])
def test_indices_out_of_range_fail_the_run(way: str, is_from_end: bool) -> None:
    """Far from the range too; a run with correct indices then succeeds on the same model."""
    least = -2 if is_from_end else 0
    error = OpFailedError if way == DECOMPOSED else BadIndexError
    rows = np.ones((2, 3), np.float32)
    for operation, updates, fixed in (
        ("gather_nd", [], {"batch_dims": 0}),
        ("scatter_nd", [rows], {"reduction": Reduction.NONE}),
        ("scatter_nd", [rows], {"reduction": Reduction.ADD}),
    ):
        arrays = {"input": SIX, "indices": int32([[0], [1]])} | dict.fromkeys(["updates"][: len(updates)], rows)
        model = made(operation, arrays, from_end=is_from_end, **fixed)
        for wrong in (2, least - 1, 2**31 - 1, -(2**31)):
            with pytest.raises(error, match="must be in"):
                run(model, way, SIX, int32([[0], [wrong]]), *updates)
        run(model, way, SIX, int32([[0], [least]]), *updates)


def test_the_error_names_the_column() -> None:
    model = made("gather_nd", {"input": SIX, "indices": int32([[0, 0]])}, batch_dims=0, from_end=False)
    with pytest.raises(BadIndexError, match=r"indices indices\[..., 1\] are in 3..3, must be in 0..2"):
        run(model, "nnapi-reference", SIX, int32([[0, 3]]))


@pytest.mark.parametrize("way", WAYS)
def test_constant_indices(way: str) -> None:
    """Engines and the decomposition compute positions of constants before a run."""

    def make(b: Builder) -> Any:
        x, updates = b.input(tensor("float32", (2, 3))), b.input(tensor("float32", (2, 2)))
        at = b.constant(int32([[0, -1], [1, 1]]))
        return (
            b.gather_elements(x, 1, at, True),
            b.scatter_elements(x, 1, at, updates, Reduction.ADD, True),
            b.take(x, -1, b.constant(int32([[-1], [0]]))),
        )

    gathered, added, taken = run(model_of(make), way, SIX, SIX[:, :2])
    assert gathered.tolist() == [[1, 3], [5, 5]]
    assert added.tolist() == [[2, 2, 5], [4, 14, 6]]
    assert taken.tolist() == [[[3], [1]], [[6], [4]]]


def test_the_decomposition_combines_64_updates_of_an_element() -> None:
    for count in (64, 65):
        at, updates = np.full((count, 1), 1, np.int32), np.arange(count, dtype=np.float32)

        def make(b: Builder, at: Any = at, updates: Any = updates) -> Any:
            return b.scatter_nd(b.input(tensor("float32", (3,))), at, updates, Reduction.ADD, False)

        model = model_of(make)
        assert run(model, "nnapi-reference", SIX[0])[0].tolist() == [1, 2 + updates.sum(), 3]
        if count == 64:
            assert run(model, DECOMPOSED, SIX[0])[0].tolist() == [1, 2 + updates.sum(), 3]
        else:
            assert "its decomposition combines 65 elements at one index" in expand(model).refusals[0]


def test_the_decomposition_limits_comparisons() -> None:
    sizes = {"input": np.zeros(4096, np.float32), "updates": np.zeros(4097, np.float32)}
    arrays = sizes | {"indices": np.zeros((4097, 1), np.int32)}
    for reduction, reason in (
        (Reduction.NONE, "compares 4096 positions with 4097 indices"),
        (Reduction.ADD, "combines"),
    ):
        model = made("scatter_nd", arrays, reduction=reduction, from_end=False)
        assert reason in expand(model).refusals[0]


@pytest.mark.parametrize(
    ("operation", "shape", "fixed", "message"),
    [
        ("gather_elements", (3, 3), {"axis": 1}, "must fit into [2, 3] along all axes but 1"),
        ("gather_elements", (2,), {"axis": 0}, "must fit into [2, 3] along all axes but 0"),
        ("gather_elements", (2, 3), {"axis": 2}, "axis is 2, must be in [-2, 2)"),
        ("gather_nd", (2, 3), {"batch_dims": 0}, "indices has 3 coordinates of each position, must have 1 to 2"),
        ("gather_nd", (3, 1), {"batch_dims": 1}, "must begin with [2]"),
        ("gather_nd", (2, 1), {"batch_dims": -1}, "batch_dims is -1, must not be negative"),
    ],
)
def test_refusals(operation: str, shape: Any, fixed: dict[str, Any], message: str) -> None:
    with pytest.raises(NnapiError) as caught:
        made(operation, {"input": SIX, "indices": np.zeros(shape, np.int32)}, from_end=False, **fixed)
    assert message in str(caught.value)


def test_updates_and_reductions_that_do_not_fit() -> None:
    arrays = {"input": SIX, "indices": int32([[0], [1]]), "updates": SIX[:, :2]}
    with pytest.raises(NnapiError, match=r"updates has shape \[2, 2\], must have \[2, 3\]"):
        made("scatter_nd", arrays, reduction=0, from_end=False)
    with pytest.raises(NnapiError, match="reduction is 5, must be one of 0, 1, 2, 3, 4"):
        made("scatter_nd", arrays | {"updates": SIX}, reduction=5, from_end=False)
    with pytest.raises(BadDataError, match="updates is TENSOR_INT32, must be TENSOR_FLOAT32"):
        model_of(lambda b: b.scatter_nd(SIX, int32([[0]]), int32([[1, 2, 3]]), 0, False))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("reduction", "expected"), [(Reduction.NONE, [0, 200, 1]), (Reduction.ADD, [0, 201, 1])])
def test_the_result_is_rounded_once_to_its_own_scale(way: str, reduction: Reduction, expected: Any) -> None:
    """The update of 400 and its sum with 2 lie outside the input's values."""

    def make(b: Builder) -> Any:
        x = b.input(tensor("quant8_asymm", (3,), 1.0, 0), "input")
        updates = b.input(tensor("quant8_asymm", (1,), 10.0, 0), "updates")
        return b.scatter_elements(x, 0, int32([1]), updates, reduction, False, scale=2.0, zero_point=0)

    x, updates = np.array([0, 2, 2], np.uint8), np.array([40], np.uint8)
    assert run(model_of(make), way, x, updates)[0].tolist() == expected
