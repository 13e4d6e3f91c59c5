"""The benchmark of loading times each file cold and warm, and leaves out what an engine refuses."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.warm_python import warm_python

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.engine
def test_loading(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    shutil.copy(REPOSITORY / "examples" / "digits" / "digits_quant.tflite", tmp_path)
    (tmp_path / "broken.tflite").write_bytes(bytes(100))
    written = tmp_path / "found.json"
    command = [warm_python(), str(REPOSITORY / "benchmarks" / "loading.py"), str(tmp_path), "--runs", "2"]
    environment = {name: value for name, value in os.environ.items() if name != "DEBUG_NN_CPUONLY"}
    done = subprocess.run(
        [*command, "--json", str(written)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert "broken.tflite is omitted" in done.stdout
    (row,) = json.loads(written.read_text())
    assert row["name"] == "digits_quant"
    assert all(row[part] > 0 for part in ("litert", "load", "compile", "warm"))
