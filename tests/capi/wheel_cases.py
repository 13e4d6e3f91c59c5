"""The compiled parts as a wheel has them, without the path of the checkout's Python."""

import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
_kept = tempfile.TemporaryDirectory(prefix="nnapi-built-")


def build(folder: Path, **variables: str) -> str:
    """Compile as for a wheel into a folder; return the output."""
    words = [sys.executable, "setup.py", "build_ext", "--build-lib", folder, "--build-temp", folder / "temporary"]
    environment = os.environ | variables
    done = subprocess.run(list(map(str, words)), cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@cache
def build_once() -> Path:
    """Return the folder of what is compiled once for all tests of this process, which takes seconds."""
    folder = Path(_kept.name)
    build(folder)
    return folder
