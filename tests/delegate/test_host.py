"""The delegate in a program of C, which has no Python."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from nnapi.capi import installation

HERE = Path(__file__).parent
NATIVE = HERE.parents[1] / "native"
CLIENTS = HERE.parents[0] / "clients"
COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
]


@pytest.mark.slow
def test_the_delegate_in_c(tmp_path: Path) -> None:
    assert COMPILER
    options = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", f"-I{NATIVE}", f"-I{CLIENTS}")
    program = tmp_path / "host"
    subprocess.run([COMPILER, *options, str(HERE / "host.c"), "-o", str(program), "-ldl", "-pthread"], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    library = installation.FOLDER / "libnnapi_delegate.so"
    done = subprocess.run([str(program), str(library)], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
