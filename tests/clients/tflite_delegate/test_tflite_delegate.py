"""TensorFlow Lite's own NNAPI delegate, built from its sources, on libneuralnetworks.so: its operator tests and models.

Needs $NNAPI_LITERT_TREE, the path of a source tree of LiteRT, and what `build.py` needs to compile it. With
$NNAPI_LITERT_BUILD it is built there, and what is there already is not built again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nnapi.capi import installation

HERE = Path(__file__).parent
TREE = os.environ.get("NNAPI_LITERT_TREE")
pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
pytestmark = [
    pytest.mark.engine,
    pytest.mark.shared,
    pytest.mark.skipif(TREE is None, reason="no source tree of LiteRT (set NNAPI_LITERT_TREE)"),
    pytest.mark.skipif(shutil.which("flatc") is None or shutil.which("g++") is None, reason="no flatc or no g++"),
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
]

RUN = """
import json, sys
import numpy as np
from ai_edge_litert.interpreter import Interpreter, load_delegate
plugin, options, model = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]
def outputs(delegates):
    interpreter = Interpreter(model, experimental_delegates=delegates)
    interpreter.allocate_tensors()
    random = np.random.default_rng(0)
    for detail in interpreter.get_input_details():
        integer = np.issubdtype(detail["dtype"], np.integer)
        value = random.integers(0, 100, detail["shape"]) if integer else random.uniform(-1, 1, detail["shape"])
        interpreter.set_tensor(detail["index"], value.astype(detail["dtype"]))
    interpreter.invoke()
    return [(interpreter.get_tensor(d["index"]), d["quantization"][0]) for d in interpreter.get_output_details()]
for (ours, scale), (right, _) in zip(outputs([load_delegate(plugin, options)]), outputs([])):
    assert ours.shape == right.shape, (ours.shape, right.shape)
    difference = np.abs(ours.astype(float) - right.astype(float)).max(initial=0)
    assert difference <= (2 if scale else 1e-3 * max(1.0, float(np.abs(right).max(initial=0)))), difference
"""
"""In a process of its own, as the library starts with the program's first delegate."""
MODELS = (
    "tflm_hello_world_float",
    "tflm_hello_world_int8",
    "mobilenet_v1_0.25_128_float",
    "mobilenet_v1_0.25_128_quant",
    "tiny_kws_int8",
    "tiny_resnet8_float",
    "edsr_f32b5_int8",
)


HAS_GTEST = Path("/usr/include/gtest/gtest.h").exists() and Path("/usr/include/gmock/gmock.h").exists()
ELSEWHERE = "CustomFloor"
"""The test with an operation of its own, which only an interpreter linked with the test can have."""
LEFT = 24
"""Tests at most whose operation the delegate does not take, whatever the library: tensors that are dynamic, versions of
operations that it does not know, an accelerator that does not exist."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert TREE
    out = Path(os.environ.get("NNAPI_LITERT_BUILD") or tmp_path_factory.mktemp("delegate"))
    words = [TREE, str(out), *(["--tests"] if HAS_GTEST else [])]
    subprocess.run([sys.executable, str(HERE / "build.py"), *words], check=True, stdout=subprocess.DEVNULL)
    return out


@pytest.fixture(scope="module")
def plugin(built: Path) -> Path:
    return built / "libnnapi_delegate.so"


def environment() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name != "DEBUG_NN_CPUONLY"
    } | installation.environment()


@pytest.mark.skipif(not HAS_GTEST, reason="no GoogleTest")
def test_operators(built: Path, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    options = [f"--gtest_filter=-*{ELSEWHERE}*", f"--gtest_output=json:{told}"]
    words = [sys.executable, str(HERE / "operators.py"), str(built / "libnnapi_operators.so"), *options]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    tests = [test for suite in json.loads(told.read_text())["testsuites"] for test in suite["testsuite"]]
    ran = [test for test in tests if test["status"] == "RUN"]
    taken = [test for test in ran if int(test.get("delegated", 0)) > 0]
    assert len(taken) >= len(ran) - LEFT > 0


@pytest.mark.parametrize("accelerator", ["xnnpack-cpu", "nnapi-reference"])
@pytest.mark.parametrize("model", MODELS)
def test_models(model: str, accelerator: str, plugin: Path, shared: Path) -> None:
    options = {"accelerator_name": accelerator, "max_number_delegated_partitions": "0"}
    words = [str(plugin), json.dumps(options), str(shared / "models" / f"{model}.tflite")]
    inherited = {name: value for name, value in os.environ.items() if name != "DEBUG_NN_CPUONLY"}
    environment = inherited | installation.environment()
    done = subprocess.run([sys.executable, "-c", RUN, *words], env=environment, capture_output=True, text=True)
    done = subprocess.run([sys.executable, "-c", RUN, *words], env=environment(), capture_output=True, text=True)  # type: ignore[operator]
    assert done.returncode == 0, done.stderr
    assert f"getDeviceIds={accelerator}=" in done.stderr, done.stderr  # what the delegate logs of its compilation
    told = re.search(r"the delegate took (\d+) of \d+ operations", done.stderr)
    assert told, done.stderr
    assert int(told[1]) > 0
    assert "nnapi: " not in done.stderr
