"""The messages of the Makefile on machines that lack a tool."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATCHED = """\
#!/bin/sh
[ "$1" = -c ] || exit 1
exec {python} -c "import sysconfig; sysconfig.get_config_vars()['INCLUDEPY'] = '{include}'; $2"
"""
"""A Python whose headers lie in another folder."""


def plan(python: str | Path, **variables: str) -> str:
    """Return the commands of `make demo`, which are not run."""
    words = ["make", "--dry-run", "demo", f"PYTHON={python}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        words, cwd=ROOT, env=environment | variables, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
def test_names_the_packages_that_the_c_library_needs(tmp_path: Path) -> None:
    headers = f"python{sys.version_info[0]}.{sys.version_info[1]}-dev"
    assert "apt install gcc" in plan(sys.executable, CC="no-compiler")

    python = tmp_path / "python"
    python.write_text(PATCHED.format(python=sys.executable, include=tmp_path))
    python.chmod(0o755)
    assert f"apt install {headers})" in plan(python, CC="sh")
    (tmp_path / "Python.h").touch()
    assert "libneuralnetworks.so cannot be built" not in plan(python, CC="sh")
