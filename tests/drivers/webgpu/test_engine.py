"""Messages from the engine's output and exceptions."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.host.engine_output import Output

pytest.importorskip("ai_edge_litert")
from nnapi.drivers.webgpu import engine
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.drivers.webgpu.engine import STARTS, Instance, TensorBuffer, explain

pytestmark = pytest.mark.engine
RAISED = "ERROR: [./litert/cc/litert_compiled_model.h:1961]\n└ Some ops are not accelerated."


def test_operators_that_are_not_taken_are_named() -> None:
    said = (
        "INFO: made\nERROR: Following operations are not supported by GPU delegate:\n"
        "ABS: Tensor dimensions must be less than 5. i00\nNEG: Operation is not supported.\n"
        "No operations will run on the GPU, and all 2 operations will run on the CPU.\n"
    )
    assert explain(RAISED, said) == (
        "the accelerator does not take the whole model: ABS: Tensor dimensions must be less than 5. i00; "
        "NEG: Operation is not supported."
    )


def test_what_was_written_last_is_the_reason_otherwise() -> None:
    said = "ERROR: [model_load.cc:316] Variable tensors not yet supported.\nINFO: unloaded\n"
    assert explain(RAISED, said) == "the accelerator refuses the model: Variable tensors not yet supported."


def test_what_was_raised_is_the_reason_where_nothing_was_written() -> None:
    assert explain(RAISED, "") == "the accelerator refuses the model: Some ops are not accelerated."


class Starts:
    """The accelerator in its place: it takes so long for each start, and fails the first ones."""

    def __init__(self, failures: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failures, self.seconds, self.count, self.now = failures, seconds, 0, 0.0
        monkeypatch.setattr(engine, "time", self)
        monkeypatch.setattr(Instance, "_make", self.make)

    def monotonic(self) -> float:
        return self.now

    def make(self, *arguments: object) -> None:
        self.count += 1
        self.now += self.seconds
        if self.count <= self.failures:
            raise RuntimeError("Failed to invoke")


def test_an_accelerator_that_gave_up_on_its_shaders_is_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    starts = Starts(STARTS - 1, 240, monkeypatch)
    Instance(b"", (), False)
    assert starts.count == STARTS
    said = "the accelerator refuses the model: Failed to invoke, after 240 s in which it compiled shaders"
    assert caplog.text.count(f"{said}; it is started again") == STARTS - 1


def test_shaders_that_take_too_long_are_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = Starts(STARTS, 240, monkeypatch)
    said = "Failed to invoke, after 240 s in which it compiled shaders; the next compilation reuses them"
    with pytest.raises(OpFailedError, match=said):
        Instance(b"", (), False)
    assert starts.count == STARTS


def test_what_fails_at_once_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = Starts(1, 1, monkeypatch)
    with pytest.raises(OpFailedError, match="the accelerator refuses the model: Failed to invoke$"):
        Instance(b"", (), False)
    assert starts.count == 1


def test_the_process_is_given_the_time_of_all_starts() -> None:
    assert WebGpuDriver.patience > STARTS * 240


def test_the_last_error_of_several_is_the_reason() -> None:
    said = "ERROR: [a.cc:1] first\nERROR: [b.cc:2] second\nERROR: plain\nINFO: [c.cc:3] third\n"
    assert explain(RAISED, said) == "the accelerator refuses the model: second"


@pytest.mark.parametrize(
    ("after", "reasons"),
    [("", ""), ("ABS: no\n\nNEG: no\n", "ABS: no"), ("ABS: no\nNEG: no\n", "ABS: no; NEG: no")],
)
def test_reasons_end_with_an_empty_line_or_the_output(after: str, reasons: str) -> None:
    said = f"Following operations are not supported by GPU delegate:\n{after}"
    assert explain(RAISED, said) == f"the accelerator does not take the whole model: {reasons}"


class Buffer:
    """A buffer of the accelerator."""

    def __init__(self, content: np.ndarray) -> None:
        self.content = content

    def write(self, array: np.ndarray) -> None:
        self.content = array

    def read(self, count: int, dtype: np.dtype) -> np.ndarray:
        assert (count, dtype) == (self.content.size, self.content.dtype)
        return self.content.reshape(-1)


def test_unsigned_values_are_signed_ones_of_the_accelerator() -> None:
    values = np.array([[0, 1, 127], [128, 129, 255]], np.uint8)
    held = Buffer(np.zeros(6, np.int8))
    buffer = TensorBuffer(held, np.dtype(np.int8), (2, 3), True)
    assert (buffer.zeros().dtype, buffer.zeros().shape) == (np.uint8, (2, 3))
    buffer.write(values)
    assert held.content.dtype == np.int8
    assert held.content.tolist() == [[-128, -127, -1], [0, 1, 127]]
    assert buffer.read().dtype == np.uint8
    assert buffer.read().tolist() == values.tolist()


def test_other_values_are_copied() -> None:
    held = Buffer(np.zeros(6, np.float32))
    buffer = TensorBuffer(held, np.dtype(np.float32), (3, 2), False)
    given = np.arange(6, dtype=np.float32).reshape(3, 2)
    buffer.write(given)
    assert held.content is given
    assert buffer.read().tolist() == given.tolist()
    assert (buffer.zeros().dtype, buffer.zeros().shape) == (np.float32, (3, 2))
    with pytest.raises(OpFailedError, match=r"^an input is omitted, the model was prepared for \[3, 2\]$"):
        buffer.write(None)
    with pytest.raises(OpFailedError, match=r"^an input is of shape \[2, 3\], the model was prepared for \[3, 2\]$"):
        buffer.write(given.T)


def test_a_shader_that_is_invalid_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accelerator goes on all the same."""

    @contextmanager
    def collect(said: Output) -> Iterator[None]:
        yield
        said.text = "INFO: made\nValidation error: no such binding\nmore\n"

    monkeypatch.setattr(engine, "collect_output", collect)
    monkeypatch.setattr(Instance, "_make", lambda *_: None)
    words = "^the accelerator refuses what it made itself: Validation error: no such binding$"
    with pytest.raises(OpFailedError, match=words):
        Instance(b"", (), False)


@pytest.mark.parametrize(("seconds", "starts"), [(59.9, 1), (60.0, 3), (61.0, 3)])
def test_a_failure_that_took_a_minute_is_tried_three_times(
    monkeypatch: pytest.MonkeyPatch, seconds: float, starts: int
) -> None:
    made = Starts(5, seconds, monkeypatch)
    with pytest.raises(OpFailedError) as caught:
        Instance(b"", (), False)
    assert made.count == starts
    assert ("in which it compiled shaders; the next compilation reuses them" in str(caught.value)) is (starts == 3)


def test_only_the_engine_s_call_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    class Buffer:
        def write(self, array: object) -> None:
            log.append("write")

        def read(self) -> object:
            log.append("read")
            return array

    class Timer:
        def __enter__(self) -> None:
            log.append("begin")

        def __exit__(self, *_: object) -> None:
            log.append("end")

    array = np.zeros(1)
    monkeypatch.setattr(Instance, "_make", lambda *_: None)
    instance: Any = Instance(b"", (), False)
    instance._inputs, instance._outputs, instance._buffers = [Buffer()], [Buffer()], ()
    instance._model = SimpleNamespace(run_by_index=lambda *_: log.append("run"))
    timer: Any = Timer()
    assert instance.run([array], timer) == [array]
    assert instance.run([array]) == [array]
    assert log == ["write", "begin", "run", "end", "read", "write", "run", "read"]
