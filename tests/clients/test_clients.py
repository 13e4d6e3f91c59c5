"""C programs, compiled against our header, as a client's author would write them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from nnapi.capi import installation
from nnapi.trace import Layer, Phase
from nnapi.trace.parse import parse_file

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.c"))
FAILING = {"buffers", "forks", "frees", "support", "threads"}
"""Programs that make calls fail on purpose, and so have something on stderr."""
WITH_PROCESSES = ["buffers", "ends", "exits", "forks", "frees", "memories", "run", "sections", "threads"]
"""Programs whose memory, threads or end concern a driver's process too."""

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
]
STRICT = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined")


def compiled(program: str, folder: Path, *options: str) -> Path:
    assert COMPILER
    made = folder / program
    source = HERE / f"{program}.c"
    paths = (
        f"-I{installation.include()}",
        f"-L{installation.library().parent}",
        f"-Wl,-rpath,{installation.library().parent}",
    )
    libraries = ("-Wl,--as-needed", "-lneuralnetworks", "-lm", "-pthread")
    subprocess.run([COMPILER, *STRICT, *options, *paths, str(source), "-o", str(made), *libraries], check=True)
    return made


def run(program: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a client as on a user's machine: nothing of this process's Python in its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | variables
    return subprocess.run([str(program), *words], env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that compiles a program, once."""
    folder = tmp_path_factory.mktemp("programs")
    return cache(lambda name: compiled(name, folder))


@pytest.mark.slow
def test_cache_is_written_and_read(program: Callable[[str], Path], tmp_path: Path) -> None:
    for _ in range(2):
        assert run(program("run"), str(tmp_path)).returncode == 0


@pytest.mark.slow
def test_quiet(program: Callable[[str], Path]) -> None:
    done = run(program("frees"), NNAPI_QUIET="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.slow
def test_sections_come_out_in_a_trace(program: Callable[[str], Path], tmp_path: Path) -> None:
    done = run(program("sections"), "traced", NNAPI_TRACE=str(tmp_path / "trace-%p.json"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    (written,) = tmp_path.glob("trace-*.json")
    report = parse_file(written)
    assert [run.mark.rpartition("|")[2] for run in report.runs] == ["[NN_LA_PO]sections"]
    times, counts = report.runs[0].statistics.times, report.runs[0].statistics.executions
    assert counts[Phase.OVERALL] == 3
    for phase in (Phase.PREPARATION, Phase.COMPILATION, Phase.EXECUTION):
        assert times[phase][Layer.APPLICATION] >= times[phase][Layer.RUNTIME] > 0, phase
    events = json.loads(written.read_text())["traceEvents"]
    assert [event["ph"] for event in events if event["name"] == "flight"] == ["b", "e"]
    assert sum(event["name"] == "check" for event in events) == 3


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A function that compiles a program with sanitizers, once; without those if the compiler has none."""
    folder = tmp_path_factory.mktemp("sanitized")
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    trial = [str(COMPILER), *SANITIZERS, str(folder / "empty.c"), "-o", str(folder / "empty")]
    options = () if subprocess.run(trial, capture_output=True).returncode else SANITIZERS
    return cache(lambda name: compiled(name, folder, *options))


def run_sanitized(program: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    # The interpreter is never finished; and a dlopen that is intercepted does not see the program's rpath.
    done = run(program, *words, ASAN_OPTIONS="detect_leaks=0", **installation.environment(), **variables)
    assert done.returncode == 0, done.stderr
    assert "Sanitizer" not in done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_client(name: str, sanitized: Callable[[str], Path], tmp_path: Path) -> None:
    done = run_sanitized(sanitized(name), *([str(tmp_path)] if name == "run" else []))
    assert done.stdout
    assert bool(done.stderr) == (name in FAILING), done.stderr
    assert all(line.startswith("nnapi: ") for line in done.stderr.splitlines()), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", WITH_PROCESSES)
def test_client_with_drivers_in_their_own_processes(
    name: str, sanitized: Callable[[str], Path], tmp_path: Path
) -> None:
    """A trace tells that there was a way to another process."""
    traced = {"NNAPI_TRACE": str(tmp_path / "trace.json")} if name == "sections" else {}
    words = {"run": [str(tmp_path)], "sections": ["traced"]}.get(name, [])
    run_sanitized(sanitized(name), *words, NNAPI_ISOLATED="all,nnapi-reference", **traced)
    if traced:
        times = parse_file(tmp_path / "trace.json").runs[0].statistics.times
        assert times[Phase.EXECUTION][Layer.IPC] > 0


def test_header_is_cpp(tmp_path: Path) -> None:
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "header.cpp"
    source.write_text(
        "#include <android/NeuralNetworks.h>\n#include <android/sharedmem.h>\n#include <android/trace.h>\n"
        "#include <NeuralNetworksExtensions.h>\n"
        "int main() { return ANeuralNetworks_getRuntimeFeatureLevel() != ANEURALNETWORKS_FEATURE_LEVEL_8; }\n"
    )
    link = (f"-L{installation.library().parent}", "-lneuralnetworks")
    made = tmp_path / "header"
    options = ("-Wall", "-Wextra", "-Werror", f"-I{installation.include()}")
    subprocess.run([compiler, *options, str(source), "-o", str(made), *link], check=True)


def test_python_that_does_not_exist_is_named(program: Callable[[str], Path]) -> None:
    done = run(program("devices"), NNAPI_PYTHON="/nowhere/bin/python3")
    assert done.returncode == 1
    assert "nnapi: ANeuralNetworks" in done.stderr
