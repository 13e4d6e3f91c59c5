"""Model files that are changed in place: truncated, overwritten or touched after they were loaded."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Device, Memory, Model, OperandCode, OperandType, OperationCode, tensor
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.errors import BadDataError
from nnapi.importers import import_cache
from nnapi.model.lazy_model import LazyModel
from nnapi.model.model import Lifetime
from nnapi.store.entry import list_entries
from tests.runtime.cache_cases import TOKEN, Slow
from tests.tflite_writer import const, f32, single
from tests.warm_python import warm_python

FILE = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"
TRUNCATED = """
import os, sys
import numpy as np
import nnapi
path, device, when = sys.argv[1:]
model = nnapi.load(path)
image = np.zeros(model.operands[model.inputs[0]].type.dimensions, np.float32)
before = os.stat(path)

def truncate():
    os.truncate(path, 0)

try:
    if when == "before compiling":
        truncate()
        model.origin = None  # as that of a client that maps the file itself
    compilation = nnapi.compile(model, device)
    if when == "before the first run":
        truncate()
    compilation.run(image)
    if when == "between runs":
        truncate()
    compilation.run(image)
except nnapi.NnapiError as error:
    print(type(error).__name__, error)
else:
    print("right")
"""
WHEN = ["before compiling", "before the first run", "between runs"]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(import_cache, "SETTLED", 0)
    return Path(shutil.copy(FILE, tmp_path / "model.tflite"))


def truncated(path: Path, device: str, when: str) -> str:
    """Return the output of a process whose file is truncated; the process may be killed before it prints."""
    command = [warm_python(), "-c", TRUNCATED, str(path), device, when]
    environment = {**os.environ, "DEBUG_NN_CPUONLY": "0"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode != -signal.SIGBUS
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("when", WHEN)
def test_a_truncated_file_on_the_reference(when: str, path: Path) -> None:
    assert "UnmappableError a mapped file was truncated: it has 0 bytes" in truncated(path, "nnapi-reference", when)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("when", WHEN)
def test_a_truncated_file_on_openvino(when: str, path: Path) -> None:
    """Large constants it reads where they are, small ones it has copied."""
    pytest.importorskip("openvino", reason="OpenVINO is an extra: nnapi[openvino]")
    assert ("right" in truncated(path, "openvino-cpu", when)) == (when != "before compiling")
    large = const(np.ones((1, 20_000)), "FLOAT32")
    path.write_bytes(single("ADD", [f32(1, 20_000), large], f32(1, 20_000), "AddOptions"))
    assert "UnmappableError a mapped file was truncated: it has 0 bytes" in truncated(path, "openvino-cpu", when)


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("when", WHEN)
def test_a_truncated_file_on_xnnpack(when: str, path: Path) -> None:
    """It keeps what it was prepared from."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    said = truncated(path, "xnnpack-cpu", when)
    assert ("UnmappableError a mapped file was truncated" in said) == (when == "before compiling")
    assert ("right" in said) == (when != "before compiling")


def overwrite(path: Path) -> None:
    """Other weights, of the same length, at a later time."""
    model = nnapi.load(path)
    largest = max((o.value for o in model.operands if o.lifetime is Lifetime.CONSTANT), key=lambda each: each.nbytes)
    old = largest.tobytes()
    content = path.read_bytes()
    assert content.count(old) == 1
    time = path.stat().st_mtime_ns
    with path.open("r+b") as file:
        file.write(content.replace(old, (largest * 2).tobytes()))
    os.utime(path, ns=(time, time + 10**9))


def test_a_file_that_was_overwritten_after_it_was_loaded_is_not_compiled(path: Path) -> None:
    model = nnapi.load(path)
    overwrite(path)
    with pytest.raises(BadDataError, match="model.tflite has changed since it was loaded: load it again"):
        nnapi.compile(model, Device(Slow()), cache=path.parent / "cache")
    assert not (path.parent / "cache").exists()
    nnapi.compile(nnapi.load(path), Device(Slow()), cache=path.parent / "cache")


def test_a_file_that_another_took_the_place_of_is_compiled(path: Path) -> None:
    model = nnapi.load(path)
    shutil.copy(FILE, path.with_name("new"))
    os.replace(path.with_name("new"), path)
    nnapi.compile(model, "nnapi-reference")
    path.unlink()
    nnapi.compile(model, "nnapi-reference")


def known_again(path: Path) -> Model:
    """The model of a file that was imported before."""
    read = nnapi.load(path)
    assert read.origin is not None
    read.origin.keep(read)
    model = nnapi.load(path)
    assert isinstance(model, LazyModel)
    return model


def test_what_was_known_of_a_file_is_not_kept_for_what_it_became(path: Path) -> None:
    """A model that is known by its digest, and read when the file says something else."""
    model = known_again(path)
    overwrite(path)
    with pytest.raises(BadDataError, match="model.tflite has changed since it was loaded: load it again"):
        nnapi.compile(model, Device(Slow()), cache=path.parent / "cache")
    assert (list_entries(path.parent / "cache")) == []


def test_what_was_known_of_a_file_holds_where_only_its_time_changed(path: Path) -> None:
    model = known_again(path)
    path.touch()
    nnapi.compile(model, Device(Slow()), cache=path.parent / "cache")
    assert len(list_entries(path.parent / "cache")) == 1


class Meddling(Slow):
    """A driver while which prepares somebody writes to the file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.path.write_bytes(np.array([3, 3], np.float32).tobytes())
        return super().prepare(model, options)


def test_no_entry_is_written_for_constants_that_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Also where a client has mapped the file itself, and whatever time the file carries."""
    path, cache = tmp_path / "weights", tmp_path / "cache"
    cache.mkdir()
    for driver in (Meddling(path), Slow()):
        path.write_bytes(np.array([2, 2], np.float32).tobytes())
        nnapi.compile(doubling(path), Device(driver), cache=(cache, TOKEN))
        assert len(list_entries(cache)) == (not isinstance(driver, Meddling))
    assert "is not cached: it changed while it was compiled" in caplog.text


def doubling(path: Path) -> Model:
    """x · the constants in a file, which the model reads where they are."""
    model = Model("doubling")
    x, weights, y = (model.add_operand(tensor("float32", (2,))) for _ in range(3))
    none = model.add_operand(OperandType(OperandCode.INT32))
    model.set_operand_value(none, 0)
    model.set_operand_value_from_memory(weights, Memory.from_file(path), 0, 8)
    model.add_operation(OperationCode.MUL, [x, weights, none], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    return model
