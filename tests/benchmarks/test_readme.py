"""Behind every number of docs/performance.md is a benchmark that exists and takes the options that it is given."""

import re
import subprocess
from pathlib import Path

import pytest

from benchmarks import readme
from tests.warm_python import warm_python

REPOSITORY = Path(__file__).parents[2]
START = "the help of a script"
HELP = f"""
import runpy, sys
path, scripts = sys.path[1:], sys.argv[1:]
for script in scripts:
    print({START!r})
    for name in [name for name in sys.modules if name.split(".")[0] in ("benchmarks", "tests", "tools")]:
        del sys.modules[name]  # each script finds what it imports
    sys.path[:], sys.argv[:] = [script.rpartition("/")[0], *path], [script, "--help"]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert not end.code, script
"""
"""Print the help of scripts, in one process."""
DIGITS = REPOSITORY / "examples" / "digits"


def test_every_benchmark_that_the_page_names_is_run() -> None:
    named = set(re.findall(r"`benchmarks/(\w+\.py)", (REPOSITORY / "docs" / "performance.md").read_text()))
    assert named
    assert named <= {*(part.command[0] for part in readme.parts(DIGITS, 1.0)), *readme.NEED_LITERT}


def test_every_benchmark_of_readme_is_run() -> None:
    """The W3C's tests need a folder of their own."""
    named = set(re.findall(r"benchmarks[./](\w+)", (REPOSITORY / "README.md").read_text())) - {"webnn"}
    words = {word for part in readme.parts(DIGITS, 1.0) for word in part.command[:2]} | {*readme.NEED_LITERT}
    assert named
    assert named <= {word.removeprefix("benchmarks.").removesuffix(".py") for word in words}


@pytest.mark.slow
def test_its_parts_know_their_options() -> None:
    parts = [part.command for part in readme.parts(DIGITS, 1.0) if part.command[0] != "-m"]
    scripts = [str(REPOSITORY / "benchmarks" / first) for first, *_ in parts]
    done = subprocess.run([warm_python(), "-c", HELP, *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    _, *texts = done.stdout.split(START)
    for (first, *rest), text in zip(parts, texts, strict=True):
        assert {word for word in rest if word.startswith("--")} <= set(re.findall(r"--[a-z]+", text)), first


def test_a_folder_without_models_is_refused(tmp_path: Path) -> None:
    command = [warm_python(), REPOSITORY / "benchmarks" / "readme.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # type: ignore[arg-type]
    assert done.returncode == 2
    assert "has no .tflite files" in done.stderr


@pytest.mark.slow
@pytest.mark.engine
def test_memory() -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    command = [warm_python(), REPOSITORY / "benchmarks" / "memory.py", DIGITS / "digits_quant.tflite"]
    done = subprocess.run([*command, "--devices", "nnapi-reference"], capture_output=True, text=True, check=False)  # type: ignore[list-item]
    assert done.returncode == 0, done.stderr
    assert "digits_quant" in done.stdout
    assert re.search(r"later: geometric mean \d", done.stdout)
