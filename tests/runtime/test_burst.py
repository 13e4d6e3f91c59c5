"""The end of a burst, and its compilation after it."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from nnapi import Builder, Device, Execution, Model, compile, tensor
from nnapi.contract.driver import Inference, Outcome, Prepared, PrepareOptions, Request
from nnapi.errors import BadDataError, BadStateError, DeadObjectError, OpFailedError, need
from nnapi.model.operand import Shape
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation
from nnapi.trace import spans
from tests.runtime.device_cases import GIVEN, Scripted, as_it_is, chain, chained


class Closing(Scripted):
    """A driver without sessions, whose prepared models run no more once they are closed."""

    def __init__(self) -> None:
        super().__init__(as_it_is, "closing")
        self.closed = 0

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return _Closed(self, super().prepare(model, options))


class _Closed:
    def __init__(self, driver: Closing, inner: Prepared) -> None:
        self._driver, self._inner, self._is_closed = driver, inner, False

    def execute(self, request: Request) -> Outcome:
        need(not self._is_closed, "the prepared model is closed", OpFailedError)
        return self._inner.execute(request)

    def close(self) -> None:
        self._is_closed = True
        self._driver.closed += 1


class Keeping(Closing):
    """A driver with sessions."""

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return _WithSessions(self, Scripted.prepare(self, model, options))


class _WithSessions(_Closed):
    def session(self) -> Prepared:
        return _Closed(self._driver, self._inner)


class Dying(Scripted):
    """A driver with a fast path, which after its first run is asked in vain for anything."""

    def __init__(self) -> None:
        super().__init__(as_it_is, "dying")
        self.is_dead = False

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return _Dying(self, super().prepare(model, options))

    def need_alive(self) -> None:
        need(not self.is_dead, "the driver has died", DeadObjectError)


class _Dying:
    def __init__(self, driver: Dying, inner: Prepared) -> None:
        self._driver, self._inner = driver, inner

    def execute(self, request: Request) -> Outcome:
        self._driver.need_alive()
        self._driver.is_dead = True
        return self._inner.execute(request)

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        self._driver.need_alive()
        return lambda inputs: list(self.execute(Request(inputs)).outputs)

    def close(self) -> None:
        pass


def run_in(compilation: Compilation) -> None:
    compilation.burst().run(GIVEN)


def compute_in(compilation: Compilation) -> None:
    """As C does it."""
    execution, burst, result = Execution(compilation), compilation.burst(), np.empty_like(GIVEN)
    execution.set_input(0, GIVEN)
    execution.set_output(0, result)
    execution.burst_compute(burst)
    burst.close()
    burst.close()


@pytest.mark.parametrize("use", [run_in, compute_in])
def test_a_device_without_sessions_goes_on(use: Callable[[Compilation], None]) -> None:
    driver = Closing()
    compilation = compile(chain(), Device(driver))
    use(compilation)
    with compilation.burst() as burst, compilation.burst() as other:
        burst.run(GIVEN)
    assert driver.closed == 0
    for run in (compilation.run, burst.run, other.run):
        np.testing.assert_array_equal(run(GIVEN)[0], chained())


def test_the_session_of_a_device_is_closed_with_the_burst() -> None:
    driver = Keeping()
    burst = compile(chain(), Device(driver)).burst()
    burst.run(GIVEN)
    assert driver.closed == 0
    burst.close()
    burst.close()
    assert driver.closed == 1
    np.testing.assert_array_equal(burst.run(GIVEN)[0], chained())


def test_leaving_a_burst_raises_nothing_when_the_driver_has_died() -> None:
    with compile(chain(), Device(Dying())).burst() as burst:
        burst.run(GIVEN)
        with pytest.raises(DeadObjectError):
            burst.run(GIVEN)
    with pytest.raises(DeadObjectError):
        burst.run(GIVEN)


def test_open_dimensions_on_the_engine() -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")
    b = Builder()
    b.output(b.abs(b.input(tensor("float32", (0, 2)))))
    from nnapi.drivers.xnnpack import XnnpackDriver

    compilation = compile(b.finish(), Device(XnnpackDriver()))
    for rows in (2, 3, 2):
        with compilation.burst() as burst:
            assert burst.run(np.full((rows, 2), -1, np.float32))[0].tolist() == [[1, 1]] * rows
    assert compilation.run(GIVEN)[0].tolist() == abs(GIVEN).tolist()


def test_a_bound_run_reads_what_its_memory_holds_by_then() -> None:
    with compile(chain(), "nnapi-reference").burst() as burst:
        (array,), run = burst.bind(GIVEN.shape)
        array[...] = GIVEN
        np.testing.assert_array_equal(run()[0], chained())
        array[...] = 7
        assert (run()[0] == 7).all()
        burst.take()
        with pytest.raises(BadStateError, match="in use by another thread"):
            run()
        burst.release()
    assert (run()[0] == 7).all(), "without what the burst kept"


def test_a_bound_run_whose_direct_way_fails_goes_the_general_way() -> None:
    class Failing(Scripted):
        def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
            inner = super().prepare(model, options)
            inner.direct = lambda shapes, borrow: fail  # type: ignore[attr-defined]
            return inner

    def fail(inputs: object) -> list[np.ndarray]:
        raise OpFailedError("not this way")

    burst = compile(chain(), Device(Failing(as_it_is, "failing"))).burst()
    (array,), run = burst.bind(GIVEN.shape)
    array[...] = GIVEN
    np.testing.assert_array_equal(run()[0], chained())


def test_memory_of_other_shapes_than_the_model_s_is_not_bound() -> None:
    burst = compile(chain(), "nnapi-reference").burst()
    with pytest.raises(BadDataError, match=r"cannot take an array of shape \[3\]"):
        burst.bind((3,))
    with pytest.raises(BadDataError, match="takes 1 input, got 2"):
        burst.bind(GIVEN.shape, GIVEN.shape)


def bind_on_the_engine(unsigned: bool) -> tuple[Compilation, Burst]:
    pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")
    b = Builder()
    pair = tensor("uint8", (2, 2), 0.5, 128) if unsigned else tensor("float32", (2, 2))
    x = b.input(pair)
    b.output(b.add(x, x, out=pair))
    from nnapi.drivers.xnnpack import XnnpackDriver

    compilation = compile(b.finish(), Device(XnnpackDriver()))
    return compilation, compilation.burst()


@pytest.mark.engine
@pytest.mark.parametrize("unsigned", [False, True])
def test_bound_memory_keeps_what_runs_read(unsigned: bool) -> None:
    compilation, burst = bind_on_the_engine(unsigned)
    (array,), run = burst.bind((2, 2))
    assert not array.any()
    array[...] = [[130, 140], [150, 129]] if unsigned else [[1, 2], [3, 4]]
    before = array.copy()
    for _ in range(2):
        np.testing.assert_array_equal(run()[0], compilation.run(before)[0])
        np.testing.assert_array_equal(array, before)
    with spans.recording():
        np.testing.assert_array_equal(run()[0], compilation.run(before)[0])


@pytest.mark.engine
def test_bound_memory_is_the_engine_s_own_where_codes_are_the_same() -> None:
    _, burst = bind_on_the_engine(False)
    assert not burst.bind((2, 2)).inputs[0].flags.owndata
    burst.close()
    assert burst.bind((2, 2)).inputs[0].flags.owndata, "what the engine has is another's by then"
