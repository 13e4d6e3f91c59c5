"""IF and WHILE inside engines, on both CPU engines."""

import time
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import Builder, Device, Execution, Model, OperandType, compile, tensor, trace
from nnapi.contract import loops
from nnapi.contract.driver import CacheEntry, Caches, LoopTimeoutError, PrepareOptions, Request
from nnapi.errors import MissedDeadlineTransientError, OpFailedError
from nnapi.testing.compare import EXACT, HALF, SINGLE, STEP, compare
from tests.drivers.flow_cases import COUNT, REAL, TRUTH, RandomFlow, counting
from tests.engines import DRIVERS, find_device
from tests.nest_cases import nest

pytestmark = pytest.mark.engine

TOLERANCES = {"float32": SINGLE, "float16": HALF, "int32": EXACT}


@pytest.fixture(params=DRIVERS)
def engine(request: pytest.FixtureRequest) -> Device:
    return find_device(request.param)


def agree(engine: Device, model: Model, *inputs: Any) -> None:
    """Assert that the engine takes the model whole, and computes what the reference does."""
    assert [verdict.reason for verdict in engine.driver.verdicts(model) if not verdict.supported] == []
    wanted = compile(model, "nnapi-reference").run(*inputs)
    given = compile(model, engine, cache=False).run(*inputs)
    for index, ours, theirs in zip(model.outputs, given, wanted, strict=True):
        type = model.operands[index].type
        tolerance = STEP if type.is_quantized else TOLERANCES.get(type.dtype.name, EXACT)
        difference = compare(ours, theirs, tolerance)
        assert difference is None, f"{model.operands[index]}: {difference}"


@pytest.mark.parametrize("seed", [1, 8, 17, 28, 33, 52])
def test_random_nests_agree(engine: Device, seed: int) -> None:
    """Seed 28 has a loop without turns, whose results OpenVINO leaves without a value."""
    flow = RandomFlow(seed)
    model = flow.make()
    agree(engine, model, *flow.inputs(model))


@pytest.mark.parametrize("turns", [0, 1, 7, 100, 20_000])
def test_counts(engine: Device, turns: int) -> None:
    """Also more than the first turns, on the fast path and after it."""
    with compile(counting(limit=turns), engine, cache=False) as compiled:
        for start in (0, -3, turns, turns + 2):
            for _ in range(2):
                assert compiled.run(np.array([start], np.int32))[0].tolist() == [max(start, turns)]


MOST = 2**31 - 1


def counting_to(limit: int | None, *, swapped: bool, both: bool) -> Model:
    """A counter that grows up to a limit, a constant or an input; in ``both``, a second state ends the loop too."""
    real = tensor("float32", (1,))
    state = [COUNT, real, *([COUNT] if limit is None else [])]
    b = Builder("condition")
    count, x, *given = (b.input(type) for type in state)
    end = given[0] if limit is None else b.constant(np.array([limit], np.int32), COUNT)
    goes_on = b.greater(end, count, out=TRUTH) if swapped else b.less(count, end, out=TRUTH)
    if both:
        goes_on = b.logical_and(b.less(x, np.array([50], np.float32), out=TRUTH), goes_on, out=TRUTH)
    b.output(goes_on)
    condition = b.finish()
    b = Builder("body")
    count, x, *_ = (b.input(type) for type in state)
    b.output(b.add(count, np.array([1], np.int32)), b.add(x, np.array([0.5], np.float32)))
    body = b.finish()
    b = Builder("counting to")
    b.output(*b.while_(condition, body, [b.input(type) for type in state], out=[COUNT, real]))
    return b.finish()


@pytest.mark.parametrize(
    ("swapped", "both", "limit", "starts", "limits"),
    [
        (False, False, 7, [0, -5, 7, MOST], ()),
        (True, False, None, [0, -7, MOST - 3, MOST, -MOST - 1], (0, 5, -MOST, MOST)),
        (False, True, MOST, [0, MOST - 3, MOST, -MOST - 1], ()),
        (True, True, None, [0, MOST, -MOST - 1], (5, MOST, -MOST)),
    ],
)
def test_limits_of_counters(
    swapped: bool, both: bool, limit: int | None, starts: list[int], limits: tuple[int, ...]
) -> None:
    """XNNPACK's driver limits the turns by the limit of the counter, whose sum with the turns may overflow."""
    model = counting_to(limit, swapped=swapped, both=both)
    zero, engine = np.zeros(1, np.float32), find_device("xnnpack-cpu")
    with compile(model, engine, cache=False) as ours, compile(model, "nnapi-reference") as theirs:
        for start in starts:
            for end in limits or (MOST,):
                if not both and limits and end - start > 100:
                    continue
                inputs = [np.array([start], np.int32), zero, *([np.array([end], np.int32)] if limits else [])]
                found, wanted = ours.run(*inputs), theirs.run(*inputs)
                assert [each.tolist() for each in found] == [each.tolist() for each in wanted], (start, end)


def matrix_loop() -> Model:
    """A captured constant: weights that pass through a loop as a state that no turn changes."""
    weights, bias = tensor("float32", (3, 3)), tensor("float32", (3,))
    state = [COUNT, REAL, weights, bias]
    b = Builder("condition")
    count, *_ = (b.input(type) for type in state)
    b.output(b.less(count, np.array([5], np.int32), out=TRUTH))
    condition = b.finish()
    b = Builder("body")
    count, x, w, c = (b.input(type) for type in state)
    b.output(b.add(count, np.array([1], np.int32)), b.tanh(b.fully_connected(x, w, c)))
    body = b.finish()
    b = Builder("matrix loop")
    count, x = b.input(COUNT), b.input(REAL)
    w = b.constant(np.eye(3, dtype=np.float32) * 1.5, weights)
    b.output(*b.while_(condition, body, [count, x, w, b.constant(np.zeros(3, np.float32), bias)], out=[COUNT, REAL]))
    return b.finish()


def test_constants_become_constants_of_the_body(engine: Device) -> None:
    """XNNPACK takes no computed weights, OpenVINO is slower with them."""
    agree(engine, matrix_loop(), np.zeros(1, np.int32), np.arange(6, dtype=np.float32).reshape(2, 3))


def test_floats_with_more_bits_than_float16_are_rounded_on_their_way(engine: Device) -> None:
    """The product is 2 in float16, but 2 - 2**-19 in float32, in which the engines compute float16."""
    half, real = tensor("float16", (1,)), tensor("float32", (1,))

    def floor(type: OperandType, is_negative: bool) -> Model:
        b = Builder("floor")
        y = b.floor(b.input(type))
        b.output(b.neg(y) if is_negative else y)
        return b.finish()

    b = Builder("halves")
    flag, x, y = b.input(TRUTH), b.input(half), b.input(half)
    product = b.mul(x, y)
    whole = b.cast(product, out=real)
    b.output(*b.if_(flag, floor(half, False), floor(half, True), [product], out=[half]))
    b.output(*b.if_(flag, floor(real, False), floor(real, True), [whole], out=[real]))
    factors = [np.array([value], np.float16) for value in (1 + 2**-10, 2 - 2**-9)]
    agree(engine, b.finish(), np.ones(1, np.uint8), *factors)


def test_the_state_of_a_cell_is_that_of_the_loop() -> None:
    """LiteRT's cells have variables, which outlive a turn."""
    rng = np.random.default_rng(0)
    state = [COUNT, tensor("float32", (2, 4)), REAL]
    b = Builder("condition")
    count, *_ = (b.input(type) for type in state)
    b.output(b.less(count, np.array([5], np.int32), out=TRUTH))
    condition = b.finish()
    b = Builder("body")
    count, hidden, x = (b.input(type) for type in state)
    given, recurrent, bias = (rng.normal(size=shape).astype(np.float32) / 2 for shape in ((4, 3), (4, 4), (4,)))
    hidden, _ = b.rnn(x, given, recurrent, bias, hidden, 1)
    b.output(b.add(count, np.array([1], np.int32)), hidden)
    body = b.finish()
    b = Builder("cell")
    b.output(*b.while_(condition, body, [b.input(type) for type in state], out=state[:2]))
    inputs = [rng.normal(size=type.dimensions).astype(np.float32) for type in state[1:]]
    agree(find_device("xnnpack-cpu"), b.finish(), np.zeros(1, np.int32), *inputs)


def test_an_endless_loop_misses_its_deadline(engine: Device) -> None:
    execution = Execution(compile(counting(tensor("float32", (1,)), 2**24 + 2), engine, cache=False))
    execution.set_input(0, np.zeros(1, np.float32))
    execution.set_output(0, np.zeros(1, np.float32))
    execution.set_loop_timeout(30_000_000)
    with pytest.raises(LoopTimeoutError, match="the loop ran longer than 30000000 ns"):
        execution.compute()


def test_a_deadline_passes_in_a_loop(engine: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is checked between calls of the engine, which permit more turns each."""
    monkeypatch.setattr(loops, "FIRST_TURNS", (2, 2))
    prepared = engine.driver.prepare(counting(limit=50), PrepareOptions(threads=1))
    now = time.monotonic_ns()
    request = Request([np.zeros(1, np.int32)], deadline=now + 3_600_000_000_000)
    assert prepared.execute(request).outputs[0].tolist() == [50]
    prepared = engine.driver.prepare(counting(limit=50), PrepareOptions(threads=1))
    moments = iter([0, 2])
    monkeypatch.setattr("nnapi.contract.loops.time.monotonic_ns", lambda: next(moments))
    with pytest.raises(MissedDeadlineTransientError, match="the time limit passed in a loop"):
        prepared.execute(request._replace(deadline=1))
    prepared.close()


def test_a_cached_model_has_its_first_turns(engine: Device) -> None:
    model, options, zero = counting(limit=3000), PrepareOptions(threads=1), np.zeros(1, np.int32)
    driver = engine.driver
    assert isinstance(driver, Caches)
    entry = driver.cache_entry(engine.driver.prepare(model, options))
    assert entry is not None
    restored = driver.restore(model, CacheEntry(entry), options)
    assert restored.execute(Request([zero])).outputs[0].tolist() == [3000]


def test_a_trace_has_the_loop_as_one_operation(engine: Device) -> None:
    with compile(counting(limit=20), engine, cache=False) as compiled:
        with trace.recording() as recorder:
            compiled.run(np.zeros(1, np.int32))
        numbers = {(span.args["operation"], span.label.name) for span in recorder.spans() if "operation" in span.args}
    assert numbers == {(0, "WHILE")}


def test_a_nest_that_is_too_deep_is_refused(engine: Device) -> None:
    """The engines call themselves for each level."""
    agree(engine, nest(16), np.ones(1, np.uint8), np.array([1, -2], np.float32))
    for depth in (17, 1500):
        (verdict,) = engine.driver.verdicts(nest(depth))
        assert verdict.reason.endswith(f"its models are nested {depth} deep, the engine takes at most 16")


def test_openvino_takes_few_copies_of_shared_models() -> None:
    """2¹⁶ of them. LiteRT shares subgraphs."""
    model = nest(16, is_shared=True)
    (verdict,) = find_device("openvino-cpu").driver.verdicts(model)
    assert verdict.reason.endswith("for each reference, there are over 10000 operations")
    agree(find_device("xnnpack-cpu"), model, np.ones(1, np.uint8), np.array([1, -2], np.float32))


def gathering() -> Model:
    """Elements of a row by computed indices, in the branch of an IF."""
    row, indices = tensor("float32", (3,)), tensor("int32", (3,))

    def finish(name: str, function: Any) -> Model:
        b = Builder(name)
        b.output(function(b, b.input(row), b.input(indices)))
        return b.finish()

    branches = finish("gather", lambda b, x, i: b.gather(x, 0, i)), finish("negate", lambda b, x, _: b.neg(x))
    b = Builder("gathering")
    b.output(*b.if_(b.input(TRUTH), *branches, [b.input(row), b.input(indices)], out=[row]))
    return b.finish()


def test_a_failure_in_a_subgraph_is_not_of_an_operation_outside() -> None:
    model, x = gathering(), np.arange(3, dtype=np.float32)
    with compile(model, find_device("xnnpack-cpu"), cache=False) as compiled:
        assert compiled.run(np.ones(1, np.uint8), x, np.array([2, 1, 0], np.int32))[0].tolist() == [2, 1, 0]
        with pytest.raises(OpFailedError, match=r"LiteRT failed: .*GATHER.*IF"):
            compiled.run(np.ones(1, np.uint8), x, np.array([2, 1, 7], np.int32))


def test_the_plan_shows_one_operation(engine: Device) -> None:
    plan = compile(counting(), [engine, nnapi.device("nnapi-reference")], cache=False).plan
    assert plan.is_simple
    assert [(decision.operation, decision.chosen) for decision in plan.decisions] == [("WHILE", engine.name)]


def refused_loop() -> Model:
    """A loop with an operation that neither engine takes: a SLICE with a computed begin."""
    row, part = tensor("float32", (4,)), tensor("float32", (2,))
    state = [COUNT, part, row]
    b = Builder("condition")
    count, *_ = (b.input(type) for type in state)
    b.output(b.less(count, np.array([2], np.int32), out=TRUTH))
    condition = b.finish()
    b = Builder("body")
    count, _, x = (b.input(type) for type in state)
    b.output(b.add(count, np.array([1], np.int32)), b.slice(x, count, np.array([2], np.int32), out=part))
    body = b.finish()
    b = Builder("windows")
    inputs = [b.input(type) for type in state]
    b.output(*b.while_(condition, body, inputs, out=[COUNT, part]))
    return b.finish()


def test_a_refusal_has_the_reason_of_the_operation_inside(engine: Device) -> None:
    model = refused_loop()
    (verdict,) = engine.driver.verdicts(model)
    assert verdict.reason.startswith("WHILE (#0): body: SLICE (#1): begin")
    plan = compile(model, [engine, nnapi.device("nnapi-reference")], cache=False).plan
    assert dict(plan.decisions[0].verdicts)[engine.name].reason == verdict.reason
    x = np.arange(4, dtype=np.float32)
    with compile(model, [engine, nnapi.device("nnapi-reference")], cache=False) as compiled:
        assert compiled.run(np.zeros(1, np.int32), x[:2], x)[1].tolist() == [1, 2]
