"""Messages from the engine's output and exceptions."""

import pytest

from nnapi.errors import OpFailedError

pytest.importorskip("ai_edge_litert")
from nnapi.drivers.webgpu import engine
from nnapi.drivers.webgpu.driver import WebGpuDriver
from nnapi.drivers.webgpu.engine import STARTS, Instance, explain

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
