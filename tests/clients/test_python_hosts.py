"""Native code inside a Python program, which shares the interpreter, its lock and its end with the library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi.capi import installation

COMPILER = shutil.which("g++") or shutil.which("c++")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler"),
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
]

GUARDED = """
#include <NeuralNetworks.h>
#define GUARDED(name, function) \\
    extern "C" int64_t name() { static const int64_t answer = (int64_t)function(); return answer; }
GUARDED(feature_level, ANeuralNetworks_getRuntimeFeatureLevel)
GUARDED(default_timeout, ANeuralNetworks_getDefaultLoopTimeout)
GUARDED(maximum_timeout, ANeuralNetworks_getMaximumLoopTimeout)
GUARDED(support_library, ANeuralNetworks_getSLDriverImpl)
"""
"""Like a delegate while it is loaded: call the library while holding the guard of a static variable."""

RACE = """
import ctypes, sys, threading
sys.setswitchinterval(1e-6)
native = ctypes.PyDLL(sys.argv[1])  # which keeps the interpreter's lock while it calls
function = getattr(native, sys.argv[2])
function.restype = ctypes.c_int64
answers = []
threads = [threading.Thread(target=lambda: answers.append(function())) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(set(answers)) == 1, answers
print(answers[0])
"""

LATE = """
#include <NeuralNetworks.h>
static ANeuralNetworksModel *model;
static ANeuralNetworksMemoryDesc *desc;
extern "C" void make() { ANeuralNetworksModel_create(&model); ANeuralNetworksMemoryDesc_create(&desc); }
struct Last { ~Last() { ANeuralNetworksModel_free(model); } } last;
extern "C" void drop() { ANeuralNetworksMemoryDesc_free(desc); }
"""
"""Objects freed when the process ends, after Python, and objects freed while Python ends."""

EXIT = """
import ctypes, sys
native = ctypes.CDLL(sys.argv[1])
native.make()
class Owner:
    def __del__(self, drop=native.drop): drop()
owner = Owner()
owner.itself = owner
sys.modules["kept"] = owner
"""


def built(source: str, folder: Path) -> Path:
    assert COMPILER
    (folder / "native.cpp").write_text(source)
    made = folder / "libnative.so"
    options = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
    paths = (
        f"-I{installation.include()}",
        f"-L{installation.library().parent}",
        f"-Wl,-rpath,{installation.library().parent}",
    )
    headers = ("-include", "NeuralNetworksSupportLibraryImpl.h")
    command = [COMPILER, *options, *paths, *headers, str(folder / "native.cpp"), "-o", str(made), "-lneuralnetworks"]
    subprocess.run(command, check=True)
    return made


def python(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("feature_level", 1000008),
        ("default_timeout", 2 * 10**9),
        ("maximum_timeout", 15 * 10**9),
        ("support_library", None),
    ],
)
def test_what_is_constant_is_answered_under_a_guard(function: str, answer: int | None, tmp_path: Path) -> None:
    done = python(RACE, str(built(GUARDED, tmp_path)), function)
    assert (done.returncode, done.stderr) == (0, "")
    assert answer is None or int(done.stdout) == answer


@pytest.mark.slow
def test_frees_at_the_end_are_silent(tmp_path: Path) -> None:
    done = python(EXIT, str(built(LATE, tmp_path)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
