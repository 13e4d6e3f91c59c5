"""Every example runs, and finds its own result right."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
OFFLINE = {"digits/train.py"}  # needs TensorFlow
SCRIPTS = sorted({path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")} - OFFLINE)


@pytest.mark.parametrize("script", SCRIPTS)
def test_example(script: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(EXAMPLES / script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""
