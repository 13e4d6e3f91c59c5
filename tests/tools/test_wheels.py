"""The requirements of `make wheel` on a wheel's name."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import wheels
from tools.environment import Environment, FailedError

EXTENSIONS = """
import setuptools
from distutils.core import run_setup

for each in run_setup("setup.py", stop_after="init").ext_modules:
    if "agent" not in each.name:
        print(each.name.rpartition(".")[2])
"""
"""Print the names of the shared objects that setup.py builds."""


def test_oldest_glibc_of_a_name() -> None:
    assert wheels.glibc("nnapi-1.0.0-cp311-cp311-manylinux_2_28_x86_64.whl") == (2, 28)
    assert wheels.glibc("nnapi-1.0.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl") == (2, 17)
    with pytest.raises(FailedError, match="no manylinux tag"):
        wheels.glibc("nnapi-1.0.0-cp311-cp311-linux_x86_64.whl")


@pytest.mark.parametrize("missing", ["_signals", "libneuralnetworks"])
def test_a_wheel_without_a_library_is_refused(missing: str, tmp_path: Path) -> None:
    wheel = tmp_path / "nnapi-1.0.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in wheels.LIBRARIES - {missing}:
            archive.writestr(f"nnapi/x/{name}.cpython-311-x86_64-linux-gnu.so", "")
    with pytest.raises(FailedError, match=f"^{wheel.name} contains .*, not .*{missing}"):
        wheels.name_wheel(Environment(tmp_path), wheel)


def test_the_libraries_are_those_that_setup_builds() -> None:
    pytest.importorskip("setuptools")
    command = [sys.executable, "-c", EXTENSIONS]
    done = subprocess.run(command, cwd=wheels.REPOSITORY, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == wheels.LIBRARIES
