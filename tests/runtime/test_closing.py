"""Closing the API's objects, by hand and at the end of a with block; compilations that travel to other processes."""

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import BadStateError, Builder, Compilation, Device, Execution, Model, PreferenceCode, compile, device, tensor

X = np.array([1, 2, 3], np.float32)
REFERENCE = device("nnapi-reference")


def doubled() -> Model:
    b = Builder("doubled")
    x = b.input(tensor("float32", (3,)))
    b.output(b.add(x, x))
    return b.finish()


def test_everything_is_a_context_manager() -> None:
    result, buffer = np.zeros(3, np.float32), X.copy()
    with doubled() as model, compile(model, REFERENCE) as compilation, compilation.burst() as burst:
        assert burst.run(X)[0].tolist() == compilation.run(X)[0].tolist() == [2, 4, 6]
        with Execution(compilation) as execution:
            execution.set_input(0, buffer)
            execution.set_output(0, result)
            execution.compute()
        with nnapi.Memory.from_array(buffer), compilation.start(X) as event:
            assert event.result()[0].tolist() == [2, 4, 6]
    assert result.tolist() == [2, 4, 6]
    for call in (lambda: compile(model), lambda: compilation.run(X), execution.compute):
        with pytest.raises(BadStateError, match="closed"):
            call()


def test_what_was_begun_goes_on_after_its_compilation_is_closed() -> None:
    result = np.zeros(3, np.float32)
    compilation = compile(doubled())
    burst, execution = compilation.burst(), Execution(compilation)
    compilation.close()
    compilation.close()
    assert burst.run(X)[0].tolist() == [2, 4, 6]
    burst.close()
    execution.set_input(0, X)
    execution.set_output(0, result)
    execution.compute()
    assert result.tolist() == [2, 4, 6]
    with pytest.raises(BadStateError, match="the compilation is closed"):
        compilation.burst()


def test_an_execution_closed_under_way_ends_first() -> None:
    result = np.zeros(3, np.float32)
    execution = Execution(compile(doubled(), REFERENCE))
    execution.set_input(0, X)
    execution.set_output(0, result)
    event = execution.start_compute()
    execution.close()
    event.wait()
    assert result.tolist() == [2, 4, 6]
    with pytest.raises(BadStateError, match="the execution is in closed"):
        execution.compute()


def test_closing_a_device_reaches_its_driver() -> None:
    class Closing(type(REFERENCE.driver)):  # type: ignore[misc]
        closed = 0

        def close(self) -> None:
            self.closed += 1

    driver = Closing()
    with Device(driver) as mine:
        assert compile(doubled(), mine).run(X)[0].tolist() == [2, 4, 6]
    assert driver.closed == 1
    REFERENCE.close()  # which holds nothing
    assert compile(doubled(), REFERENCE).run(X)[0].tolist() == [2, 4, 6]


def test_a_compilation_travels_with_its_options(tmp_path: Path) -> None:
    compilation = Compilation(doubled(), [REFERENCE])
    compilation.set_preference(PreferenceCode.PREFER_SUSTAINED_SPEED)
    compilation.set_threads(1)
    compilation.set_timeout(10**12)
    compilation.set_caching(tmp_path, bytes(32))
    compilation.finish()
    again = pickle.loads(pickle.dumps(compilation))
    assert again.run(X)[0].tolist() == [2, 4, 6]
    assert again.__reduce__()[1][1:] == compilation.__reduce__()[1][1:]


@pytest.mark.slow
def test_a_compilation_travels_to_another_process() -> None:
    pickled = pickle.dumps(compile(doubled()))
    program = "import pickle, sys, numpy as np; print(pickle.load(sys.stdin.buffer).run(np.ones(3, 'f4'))[0].tolist())"
    found = subprocess.run([sys.executable, "-c", program], input=pickled, capture_output=True, check=True)
    assert found.stdout == b"[2.0, 2.0, 2.0]\n"


def test_a_compilation_that_is_not_ready_stays() -> None:
    with pytest.raises(BadStateError, match="preparing, not ready"):
        pickle.dumps(Compilation(doubled()))
