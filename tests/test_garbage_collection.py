"""Nothing is collected while modules are imported and models read and lowered, and everything afterwards."""

import gc
from pathlib import Path
from typing import Any

import pytest

import nnapi
from nnapi.garbage_collection import pause_collecting
from nnapi.importers import tflite
from nnapi.lowering.lower import Lowering


def test_collecting_goes_on_afterwards() -> None:
    with pause_collecting():
        assert not gc.isenabled()
        with pause_collecting():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ImportError), pause_collecting():
        raise ImportError
    assert gc.isenabled()


def test_who_collects_nothing_goes_on_so() -> None:
    gc.disable()
    try:
        with pause_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def note(states: list[bool], owner: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Note for each call of a function whether cycles are collected."""
    function = vars(owner)[name]

    def noted(*given: Any, **named: Any) -> Any:
        states.append(gc.isenabled())
        return function(*given, **named)

    monkeypatch.setattr(owner, name, noted)


def test_nothing_is_collected_while_models_are_read_and_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = nnapi.Builder()
    b.output(b.relu(b.input(nnapi.tensor("float32", (2, 3)))))
    states: list[bool] = []
    note(states, Lowering, "_judge", monkeypatch)
    nnapi.export(b.finish(), tmp_path / "relu.tflite")
    assert states
    note(states, tflite, "read_with_shapes", monkeypatch)
    nnapi.load(tmp_path / "relu.tflite")
    assert not any(states)
    assert gc.isenabled()


def test_nothing_is_collected_while_onnx_files_are_read_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    from nnapi.formats.onnx import messages
    from nnapi.importers.onnx import static_import
    from tests.importers.onnx.symbolic_cases import make_heads

    states: list[bool] = []
    note(states, messages.ModelProto.__base__, "check", monkeypatch)
    note(states, static_import, "_import", monkeypatch)
    model = nnapi.load(make_heads(), shapes={"x": (2, 3, 8)})
    assert len(states) > 2
    note(states, Lowering, "_judge", monkeypatch)
    nnapi.export(model, tmp_path / "heads.onnx")
    assert len(states) > len(model.operations)
    assert not any(states)
