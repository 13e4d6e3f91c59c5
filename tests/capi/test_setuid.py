"""A program with more rights than its caller, who must not choose the code that it runs or the files that it writes."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.capi import installation
from tests.capi.wheel_cases import build_once

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
COMPILER = shutil.which("gcc") or shutil.which("cc")
PYTHON = f"python{sysconfig.get_python_version()}"
CALLER = 65534
SECURE = "secure\n"

pytestmark = [
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root makes setuid programs and runs them as another user"),
]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that belongs to the caller."""
    with tempfile.TemporaryDirectory(prefix="nnapi-setuid-") as made:
        os.chown(made, CALLER, CALLER)
        os.chmod(made, 0o755)
        yield Path(made)


def build(program: Path, library: Path) -> Path:
    """Compile a setuid program of root's that uses a library."""
    options = ["-std=c11", "-D_GNU_SOURCE", f"-I{installation.include()}", f"-L{library.parent}"]
    linked = [f"-Wl,-rpath,{library.parent}", "-lneuralnetworks", "-lm"]
    subprocess.run([str(COMPILER), *options, CLIENTS / "secure.c", "-o", program, *linked], check=True)
    program.chmod(0o755 | stat.S_ISUID)
    return program


def run(program: Path, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a program as the caller; skip the test if it gets no rights of its own."""
    check = [shutil.which("id") or "/usr/bin/id", "-u"]
    copied = Path(shutil.copy(check[0], program.parent / "id"))
    copied.chmod(0o755 | stat.S_ISUID)
    done = subprocess.run([copied, "-u"], capture_output=True, text=True, user=CALLER, group=CALLER, check=False)
    if done.stdout.strip() != "0":
        pytest.skip("setuid has no effect on this file system or in this container")
    return subprocess.run(
        [program], env=variables, capture_output=True, text=True, timeout=300, user=CALLER, group=CALLER, check=False
    )


def plant(folder: Path) -> Path:
    """Put modules that the caller would like to run into a folder; return the file that they would make."""
    made = folder / "made by the caller's code"
    code = f"open({str(made)!r}, 'a').write(__name__)\n"
    for name in ("sitecustomize", "usercustomize", "nnapi", "numpy", "cffi"):
        (folder / f"{name}.py").write_text(code)
    return made


@pytest.mark.slow
def test_the_caller_s_environment_has_no_effect(folder: Path) -> None:
    program, made = build(folder / "secure", installation.library()), plant(folder)
    before = {*folder.iterdir()} | {folder / "id"}
    done = run(
        program,
        {
            "NNAPI_PYTHON": str(folder / PYTHON),
            "NNAPI_RECORD": str(folder / "record.npz"),
            "NNAPI_TRACE": str(folder / "trace.json"),
            "NNAPI_DROPIN": "litert",
            "NNAPI_DELEGATES": f"planted={folder / 'delegate.so'}",
            "NNAPI_CACHE_DIR": str(folder / "cache"),
            "XDG_CACHE_HOME": str(folder / "users"),
            "HOME": str(folder / "home"),
            "PYTHONPATH": str(folder),
            "PYTHONHOME": str(folder),
            "PYTHONUSERBASE": str(folder),
        },
    )
    assert (done.returncode, done.stdout) == (0, SECURE), done.stderr
    assert not made.exists()
    assert {*folder.iterdir()} == before


@pytest.mark.slow
def test_no_python_of_the_caller_s_path_is_started(folder: Path) -> None:
    """Outside of an environment, the library searches PATH for ordinary programs only."""
    nowhere = folder.joinpath(*"abcdef") / installation.library().parent.name
    nowhere.mkdir(parents=True)
    (made,) = build_once().rglob("libneuralnetworks.so")
    library = Path(shutil.copy(made, nowhere))
    found = folder / PYTHON
    found.symlink_to(sys.executable)
    done = run(build(folder / "secure", library), {"PATH": str(folder), "NNAPI_PYTHON": str(found)})
    assert done.returncode != 0
    assert f"no {PYTHON} is where this library is installed" in done.stderr
