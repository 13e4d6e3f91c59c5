"""C programs, compiled against our header, as a client's author would write them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nnapi.capi import installation
from nnapi.trace import Layer, Phase
from nnapi.trace.parse import parse_file

HERE = Path(__file__).parent
PROGRAMS = sorted(path.stem for path in HERE.glob("*.c"))
FAILING = {"buffers", "forks", "frees", "support", "threads"}
"""Programs that make calls fail on purpose, and so have something on stderr."""

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


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS)
def test_client(program: str, tmp_path: Path) -> None:
    done = run(compiled(program, tmp_path), *([str(tmp_path)] if program == "run" else []))
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert bool(done.stderr) == (program in FAILING), done.stderr
    assert all(line.startswith("nnapi: ") for line in done.stderr.splitlines()), done.stderr


@pytest.mark.slow
def test_cache_is_written_and_read(tmp_path: Path) -> None:
    program = compiled("run", tmp_path)
    cache = tmp_path / "cache"
    cache.mkdir()
    for _ in range(2):
        assert run(program, str(cache)).returncode == 0


@pytest.mark.slow
def test_quiet(tmp_path: Path) -> None:
    done = run(compiled("frees", tmp_path), NNAPI_QUIET="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.slow
def test_sections_come_out_in_a_trace(tmp_path: Path) -> None:
    program, file = compiled("sections", tmp_path), tmp_path / "trace-%p.json"
    done = run(program, "traced", NNAPI_TRACE=str(file))
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
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The programs with sanitizers, which take seconds to compile."""
    folder = tmp_path_factory.mktemp("sanitized")
    try:
        return {program: compiled(program, folder, *SANITIZERS) for program in PROGRAMS}
    except subprocess.CalledProcessError:
        pytest.skip("the compiler has no sanitizers")


@pytest.mark.slow
def test_sanitizers(sanitized: dict[str, Path]) -> None:
    for program in sanitized.values():
        # The interpreter is never finished; and a dlopen that is intercepted does not see the program's rpath.
        done = run(program, ASAN_OPTIONS="detect_leaks=0", **installation.environment())
        assert done.returncode == 0, done.stderr
        assert "Sanitizer" not in done.stderr


@pytest.mark.slow
def test_sanitizers_with_drivers_in_their_own_processes(sanitized: dict[str, Path], tmp_path: Path) -> None:
    """All of the programs, and one that tells by its trace that there was a way to another process."""
    apart = {"NNAPI_ISOLATED": "all,nnapi-reference", "ASAN_OPTIONS": "detect_leaks=0", **installation.environment()}
    for name, program in sanitized.items():
        done = run(program, *([str(tmp_path)] if name == "run" else []), **apart)
        assert done.returncode == 0, done.stderr
        assert "Sanitizer" not in done.stderr
    done = run(sanitized["sections"], "traced", NNAPI_TRACE=str(tmp_path / "trace.json"), **apart)
    assert done.returncode == 0, done.stderr
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


def test_python_that_does_not_exist_is_named(tmp_path: Path) -> None:
    done = run(compiled("devices", tmp_path), NNAPI_PYTHON="/nowhere/bin/python3")
    assert done.returncode == 1
    assert "nnapi: ANeuralNetworks" in done.stderr
