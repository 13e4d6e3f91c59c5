"""What closing a burst leaves of its compilation."""

from collections.abc import Callable

import numpy as np
import pytest

from nnapi import Builder, Device, Execution, Model, compile, tensor
from nnapi.drivers.base import Outcome, Prepared, PrepareOptions, Request
from nnapi.errors import BadStateError, OpFailedError, need
from nnapi.runtime.compilation import Compilation
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


def test_a_bound_run_reads_what_its_arrays_hold_by_then() -> None:
    array = GIVEN.copy()
    with compile(chain(), "nnapi-reference").burst() as burst:
        run = burst.bind(array)
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
    np.testing.assert_array_equal(burst.bind(GIVEN)()[0], chained())
