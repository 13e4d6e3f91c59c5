"""If a resource runs out while models are loaded, compiled or run, the project's own error names it.

Each case is a process of its own, since what was imported once needs neither memory nor descriptors again.
"""

import os
import subprocess
import sys
from errno import EMFILE, ENOMEM, ENOSPC
from pathlib import Path

import pytest

import nnapi
from nnapi.errors import NnapiError, OpFailedError, OutOfMemoryError
from nnapi.importers import tflite
from nnapi.runtime.memory import HardwareBuffer
from tests.runtime.cache_cases import Slow

FILE = Path(__file__).parents[1] / "examples" / "digits" / "digits_float.tflite"
PROGRAM = """
import os, resource, sys, threading
import numpy as np
import nnapi

def descriptors(spare):
    free = os.open(os.devnull, os.O_RDONLY)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + spare, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))

def memory(spare):
    taken = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (taken + (spare << 20), resource.RLIM_INFINITY))
    threading.stack_size(32 << 20)  # of threads from now on, whatever the system's own limit is

read = nnapi.load  # who is short of something has imported it before

def load():
    return read(sys.argv[1])

def compile():
    return nnapi.compile(load(), sys.argv[2])

def run():
    compilation = compile()
    model = compilation.model
    image = np.zeros(model.operands[model.inputs[0]].type.dimensions, np.float32)
    compilation.run(image)
    return lambda: compilation.start(image).result()

limit, spare, stage = sys.argv[3:]
def compile_later():
    model, compile = load(), nnapi.compile
    return lambda: compile(model, sys.argv[2])

before = {"load": lambda: load, "compile": compile_later, "run": run}[stage]()
nnapi.devices()
{"descriptors": descriptors, "memory": memory}[limit](int(spare))
try:
    before()
except nnapi.NnapiError as error:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print(type(error).__name__)
else:
    print("nothing")
"""


def outcome(device: str, limit: str, spare: int, stage: str) -> str:
    command = [sys.executable, "-c", PROGRAM, str(FILE), device, limit, str(spare), stage]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("spare", "error"), [(0, "OpFailedError"), (1, "UnmappableError"), (2, "OpFailedError")])
def test_descriptors_for_loading(spare: int, error: str) -> None:
    """None for the file, one for it but none for its mapping, none for a module that is imported on demand."""
    assert outcome("nnapi-reference", "descriptors", spare, "load") == error


def test_memory_for_loading() -> None:
    assert outcome("nnapi-reference", "memory", 0, "load") == "UnmappableError"


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "error"), [("compile", "OutOfMemoryError"), ("run", "OpFailedError")])
def test_memory(stage: str, error: str) -> None:
    """4 MB: enough for modules that are imported on demand, not for the reference's arena nor for a thread's stack."""
    assert outcome("nnapi-reference", "memory", 4, stage) == error


RAISED = [
    (MemoryError(), OutOfMemoryError, "no memory left"),
    (ImportError("failed to map segment from shared object"), OpFailedError, "ImportError: failed to map segment"),
    (OSError(EMFILE, "Too many open files"), OpFailedError, "OSError: .* Too many open files"),
    (OSError(ENOMEM, "Cannot allocate memory"), OutOfMemoryError, "OSError: .* Cannot allocate memory"),
]


@pytest.mark.parametrize(("raised", "wanted", "message"), RAISED)
def test_what_is_imported_on_demand(
    raised: Exception, wanted: type[NnapiError], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    model, driver = nnapi.load(FILE), Slow()
    monkeypatch.setattr(driver, "verdicts", fail)
    with pytest.raises(wanted, match=f"digits_float cannot be prepared: {message}"):
        nnapi.compile(model, nnapi.Device(driver))
    monkeypatch.setattr(tflite, "read", fail)
    with pytest.raises(wanted, match=f"digits_float.tflite: {message}"):
        nnapi.load(FILE)


LACKING = [
    ("memfd_create", OSError(EMFILE, "Too many open files"), OpFailedError),
    ("ftruncate", OSError(ENOSPC, "No space left on device"), OpFailedError),
    ("ftruncate", OSError(ENOMEM, "Cannot allocate memory"), OutOfMemoryError),
]


@pytest.mark.parametrize(("call", "raised", "wanted"), LACKING)
def test_what_a_hardware_buffer_lacks_is_told(
    call: str, raised: OSError, wanted: type[NnapiError], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(wanted, match=f"no hardware buffer of 16 bytes: OSError: .*{raised.strerror}"):
        HardwareBuffer(16)
