"""Every example runs, and finds its own result right."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
OFFLINE = {"digits/train.py"}  # needs TensorFlow
WITH_ARGUMENTS = {"recompute_golden.py"}  # test_recompute_golden.py runs it
SCRIPTS = {path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.py")} - OFFLINE - WITH_ARGUMENTS
WORKERS = {
    "workers/joblib_digits.py": "joblib",
    "workers/ray_digits.py": "ray.data",
    "workers/spark_digits.py": "pyspark",
}
"""Examples that need another library's workers; that library is not installed for development and prints on stderr."""


@pytest.mark.slow
@pytest.mark.parametrize(("script", "library"), WORKERS.items())
def test_example_of_workers(script: str, library: str) -> None:
    pytest.importorskip(library.partition(".")[0], reason=f"{library} is not installed")
    if library == "ray.data":
        pytest.importorskip("pyarrow", reason="ray[data] is not installed")
    if library == "pyspark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    done = subprocess.run([sys.executable, str(EXAMPLES / script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().endswith("of 450 digits are right")


@pytest.mark.parametrize("script", sorted(SCRIPTS - WORKERS.keys()))
def test_example(script: str) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "error", str(EXAMPLES / script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert done.stderr == ""
