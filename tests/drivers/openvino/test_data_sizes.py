"""Models that compute sizes from data are compiled once, whole; computed indices are checked in each run."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

from nnapi import Builder, compile
from nnapi.contract.driver import CacheEntry, PrepareOptions, Request
from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.computed_indices import CheckedIndices
from nnapi.drivers.openvino.data_sizes import SAMPLE, DataSizeError, DataSizes, as_unknown
from nnapi.drivers.openvino.lowering import lower_model
from nnapi.model.call import UNKNOWN
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, tensor
from nnapi.ops.index_checks import BadIndexError
from nnapi.runtime.device import Device, device
from nnapi.runtime.verdicts.verdicts import find_verdicts
from nnapi.shapes.symbols import Symbols

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")
X = np.array([[1, -2, 3, 0], [-1, 5, 0, 2], [4, 4, -6, 1]], np.float32)
INPUTS = (X, -np.abs(X), np.abs(X) + 1)
"""Some elements are positive, none, all."""


def make(build: Callable[[Any, Any], Any], type: OperandType | None = None) -> Model:
    b = Builder()
    results = build(b, b.input(type or tensor("float32", (3, 4))))
    for each in results if isinstance(results, list | tuple) else [results]:
        b.output(each)
    return b.finish()


def compare(build: Callable[[Any, Any], Any], *inputs: Any) -> None:
    """Compare a whole model on the engine with the reference; it is compiled once for all runs."""
    arrays = inputs or INPUTS
    model = make(build, tensor(str(arrays[0].dtype), arrays[0].shape))
    compiled, reference = compile(model, [ENGINE]), compile(model, [REFERENCE])
    for array in arrays:
        for ours, expected in zip(compiled.run(array), reference.run(array), strict=True):
            assert ours.shape == expected.shape
            np.testing.assert_allclose(ours, expected, 1e-6)


def positive(b: Any, x: Any) -> tuple[Any, Any]:
    """Return the rows and the columns of the positive elements."""
    found = b.nonzero(b.relu(x))
    return b.reshape(b.gather(found, 0, [0]), [-1]), b.reshape(b.gather(found, 0, [1]), [-1])


def take_rows(b: Any, x: Any) -> Any:
    """Return a row of x for each positive element."""
    return b.gather(x, 0, positive(b, x)[0])


def test_rows_of_an_unknown_number() -> None:
    compare(lambda b, x: (rows := take_rows(b, x), b.mul(b.exp(rows), rows), b.reduce_max(rows, [1], True)))


def test_quotients_of_positions() -> None:
    """Positions are not negative, so that the engine's quotients need no correction."""
    row = np.arange(-40, 3000, dtype=np.float32)

    def build(b: Any, x: Any) -> Any:
        at = b.reshape(b.nonzero(b.relu(x)), [-1])
        return [compute(at, each) for each in (1, 3, 91, 2**24) for compute in (b.div, partial(b.mod, fmod=True))]

    compare(build, row)


def test_positions_of_elements_need_no_test() -> None:
    """They are in range; indices computed from them may not be."""
    row = X.reshape(-1)

    def build(b: Any, x: Any, step: int) -> Any:
        at = b.add(b.reshape(b.nonzero(b.relu(x)), [-1, 1]), np.array([step], np.int32))
        return b.gather_nd(x, at, 0, False), b.gather(x, 0, b.reshape(at, [-1]))

    def count(step: int) -> int:
        lowered = lower_model(make(lambda b, x: build(b, x, step), tensor("float32", row.shape)))
        assert all(verdict.supported for verdict in lowered.verdicts)
        return len(lowered.computed)

    compare(lambda b, x: build(b, x, 0), row, -np.abs(row))
    assert (count(0), count(1)) == (0, 2)


def test_a_constant_index_of_an_unknown_number() -> None:
    """The engine clamps the index, whose limit it computes."""
    update = np.full((1, 4), 7, np.float32)
    first, last = (np.array([[at]], np.int32) for at in (0, -1))
    compare(
        lambda b, x: b.scatter_nd(b.scatter_nd(take_rows(b, x), first, update, 0, True), last, update, 0, True),
        X,
        np.abs(X),
    )


def test_arithmetic_of_two_unknown_sizes_that_are_equal() -> None:
    """Both are the number of the same elements, which only a run knows."""

    def build(b: Any, x: Any) -> Any:
        squares = b.reshape(b.gather(b.nonzero(b.relu(b.mul(b.relu(x), x))), 0, [1]), [-1])
        return b.add(positive(b, x)[0], squares), b.less(squares, positive(b, x)[1])

    compare(build)


def test_computed_shapes() -> None:
    row, plane = tensor("float32", (0,)), tensor("float32", (0, 4))

    def build(b: Any, x: Any) -> Any:
        rows = take_rows(b, x)
        shape = b.shape(rows)
        count = b.gather(shape, 0, [0])
        tiled = b.tile(b.gather(x, 0, [0]), b.maximum(b.sub(shape, [0, 3]), [1, 1]), out=plane)
        numbers = b.range([0], count, [1])
        return b.fill(count, np.float32(7), out=row), numbers, tiled, b.reshape(rows, shape, out=plane)

    compare(build)


def test_the_best_of_an_unknown_number() -> None:
    """Equal elements keep their order, also in long rows, which the engine sorts by another algorithm."""
    row = np.random.default_rng(3).integers(-9, 9, (1, 3000)).astype(np.float32)
    out = (tensor("float32", (0,)), tensor("int32", (0,)))

    def build(b: Any, x: Any) -> Any:
        flat = b.reshape(x, [-1])
        values = b.gather(flat, 0, b.reshape(b.nonzero(b.relu(flat)), [-1]))
        count = b.minimum(b.shape(values), [40])
        best, worst = b.top_k(values, 0, count, True, out=out), b.top_k(b.neg(values), 0, count, False, out=out)
        return [*best, *worst, *b.top_k(x, 1, 500, True), *b.topk_v2(x, 300)]

    compare(build, row, row[:, ::-1].copy())


@pytest.mark.parametrize("fmod", [True, False])
def test_quotients_and_remainders_of_integers_are_exact(fmod: bool) -> None:
    random = np.random.default_rng(1)
    wide = random.integers(-(2**31) + 1, 2**31, 4000)
    near = np.repeat(random.integers(1, 2**15, 1000), 4)
    x = np.concatenate([wide, near * np.tile([7, 7, 40000, 40000], 1000) - np.tile([0, 1], 2000)])
    y = np.concatenate([np.resize([1, -1, 3, -7, 2**24 + 1, -(2**31) + 1, 0, 65536], 4000), near])
    divisors = y.astype(np.int32)
    compare(lambda b, x: (b.div(x, divisors), b.mod(x, divisors, fmod)), x.astype(np.int32))


@pytest.mark.parametrize("reverses", [False, True])
def test_regions_of_an_unknown_number(reverses: bool) -> None:
    image = np.random.default_rng(2).random((1, 8, 6, 3)).astype(np.float32)

    def build(b: Any, x: Any) -> Any:
        found = b.reshape(b.nonzero(b.relu(b.sub(x, np.array([0.9], np.float32)))), [4, -1])
        boxes = b.transpose(b.cast(b.gather(found, 0, [1, 2, 1, 2]), out="float32"), [1, 0])
        boxes = b.add(boxes, np.array([[0, 0, -4 if reverses else 2.5, 3]], np.float32))
        images = b.reshape(b.gather(found, 0, [0]), [-1])
        return [
            b.roi_align_v2(x, boxes, images, 2, 3, 0.8, samples, half, False)
            for samples in (0, 2)
            for half in (False, True)
        ]

    compare(build, image, image / 2)


def test_branches_with_results_of_other_sizes() -> None:
    def branch(pick: Callable[[Any, Any], Any]) -> Model:
        b = Builder()
        x = b.input(tensor("float32", (0, 4)))
        b.output(pick(b, x))
        return b.finish()

    def build(b: Any, x: Any) -> Any:
        rows = take_rows(b, x)
        several = b.greater(b.gather(b.shape(rows), 0, [0]), [5], out=tensor("bool8", (1,)))
        then, otherwise = branch(lambda b, x: b.concatenation([x, x], 0)), branch(lambda b, x: b.mul(x, x))
        return b.neg(b.if_(several, then, otherwise, rows, out=tensor("float32", (0, 4)))[0])

    compare(build)


def look_up(b: Any, x: Any) -> Any:
    """Return the elements of a table at the indices that x holds, for its positive elements."""
    table = np.arange(5, dtype=np.float32)
    numbers = b.gather(b.reshape(x, [-1]), 0, positive(b, b.reshape(x, [1, -1]))[1])
    return b.gather(table, 0, b.cast(numbers, out="int32"))


def test_computed_indices_are_checked() -> None:
    driver = OpenVinoDriver(threads=1)
    prepared = driver.prepare(make(look_up), PrepareOptions())
    entry = driver.cache_entry(prepared)
    assert entry is not None
    restored = driver.restore(make(look_up), CacheEntry(entry), PrepareOptions())
    for each in (prepared, restored):
        assert each.execute(Request([np.minimum(X, 4)])).outputs[0].tolist() == [1, 3, 4, 2, 4, 4, 1]
        assert each.execute(Request([-np.abs(X)])).outputs[0].tolist() == []
        with pytest.raises(BadIndexError, match=r"indices .* are in 1\.\.5, must be in 0\.\.4"):
            each.execute(Request([X]))
        assert each.execute(Request([X / 2])).outputs[0].tolist() == [0, 1, 2, 1, 2, 2, 0]


def find_reasons(build: Callable[..., Any], *types: OperandType) -> list[str]:
    b = Builder()
    b.output(build(b, *map(b.input, types)))
    return [verdict.reason for verdict in find_verdicts(OpenVinoDriver(threads=1), b.finish())]


def test_parameters_that_a_program_gives_are_refused() -> None:
    """The engine does not check them: paddings of another shape ended the process."""
    x, sizes = tensor("float32", (3, 4)), tensor("int32", (2,))
    (reason,) = find_reasons(lambda b, x, shape: b.reshape(x, shape), x, sizes)
    assert "is not known before the model runs" in reason


def test_computed_parameters_of_another_shape_are_refused() -> None:
    x, multiples = tensor("float32", (3, 4)), tensor("int32", (3,))
    *_, reason = find_reasons(lambda b, x, given: b.tile(x, b.abs(given), out=tensor("float32", (0, 0))), x, multiples)
    assert reason == "TILE (#1): abs_0 has dimensions [3], must have [2]"


def test_a_view_of_unknown_size_is_a_result() -> None:
    """Other operations read what it views."""
    compare(lambda b, x: (flat := b.reshape(take_rows(b, x), [-1]), b.neg(flat), b.reshape(flat, [-1, 2])))


@pytest.mark.parametrize(("limit", "step"), [(-6, 1), (6, -1), (7, 2), (-7, -2), (0, 1)])
def test_counting(limit: int, step: int) -> None:
    """The engine itself counts away from a limit that lies in the other direction."""
    compare(lambda b, x: b.range(x, np.array([limit], np.int32), np.array([step], np.int32)), np.zeros(1, np.int32))


@pytest.mark.parametrize("limit", [4.0, 2.25, -1.5, 0.0])
def test_counting_floats_from_0(limit: float) -> None:
    """Only steps of 1 from 0 are exact in the engine."""

    def count(start: float, delta: float) -> Any:
        first, step, one = (np.array([each], np.float32) for each in (start, delta, 1))
        return lambda b, x: b.range(b.constant(first), b.mul(x, b.constant(one)), b.constant(step))

    x = np.array([limit], np.float32)
    compare(count(0, 1), x)
    for numbers in ((0, 0.1), (0.5, 1)):
        assert find_reasons(count(*numbers), tensor("float32", (1,)))[-1] == "RANGE (#1): the engine counts in float32"


def test_extremes_without_indices_are_right() -> None:
    CheckedIndices("indices", 0).check(np.array([2**30, -(2**30), 0]))
    for low, high in ((-1, 2), (0, 3)):
        with pytest.raises(BadIndexError, match=f"indices are in {low}..{high}, must be in 0..2"):
            CheckedIndices("indices", 0).check(np.array([low, high, 3]))


def test_a_size_may_depend_on_inputs_and_on_data() -> None:
    """Guards on inputs are those of the import; on data there are none. The order of operands does not matter."""
    given: Any = Symbols()
    length, width = given.add(5, "length"), given.add(7, "width")
    sizes: Any = DataSizes(given)
    count = sizes.add_unknown("count")
    for mixed in (width * count, count * width):
        assert mixed.symbols is sizes
        assert mixed.number == 7 * count.number
        assert mixed // width == count
        assert mixed != length
        assert (mixed > length) == (length < mixed)
    assert not given.guards
    assert sizes.decide((length - width).expression, "==") is False
    assert list(given.guards.values()) == [False]


def test_sizes_are_compared_without_their_numbers() -> None:
    sizes: Any = DataSizes()
    a, b = sizes.add_unknown("a"), sizes.add_unknown("b")
    assert a != b
    assert a == a + b - b
    assert a != 0
    assert a < 10**6
    assert as_unknown((a, 3, 0)) == (UNKNOWN, 3, UNKNOWN)
    assert sizes.copy((7,)) == (7,)
    for ask in (int, lambda size: size == SAMPLE):
        with pytest.raises(DataSizeError, match="a size depends on the data"):
            ask(a)
