"""The plan that a compilation uses, and the records that it does not touch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tflite_writer import f32, single

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits_float.tflite"


@pytest.mark.slow
def test_a_model_that_is_known_needs_nothing_that_chooses(tmp_path: Path) -> None:
    """Compiling what earlier compilations chose for loads no planner, no calibration, no comparison."""
    code = """
import sys
import nnapi
from nnapi.contract.driver import PrepareOptions
from benchmarks.null_device import Null
from nnapi.runtime.choice.knowledge import keep
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, Record
from nnapi.runtime.planning.plan import Explanation, Plan, run_everything_on

builder = nnapi.Builder()
x = builder.input(nnapi.tensor("float32", (1, 8)))
builder.output(builder.logistic(x))
model, devices = builder.finish(), [nnapi.device("nnapi-reference"), nnapi.Device(Null())]
plan = Plan(model, (run_everything_on(model, devices[0].name),), lambda: Explanation((), 1.0)).on_threads(1)
question = Question(model, devices, PrepareOptions())
keep(question, question.key, Record.of(MEASURED, plan))
assert nnapi.compile(model, devices).plan.devices == (devices[0].name,)
print(*sys.modules)
"""
    kept = {**os.environ, "NNAPI_CACHE_DIR": str(tmp_path), "NNAPI_TUNING": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=kept)
    assert not done.returncode, done.stderr
    runtime = {module.removeprefix("nnapi.runtime.") for module in done.stdout.split()}
    assert "choice.preparation" in runtime
    assert not {"choice.predict", "choice.trial", "choice.tuner", "planning.planner"} & runtime


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["EXP", "ABS", "digits"])
def test_a_choice_that_was_only_predicted_needs_nothing_that_chooses(kind: str, tmp_path: Path) -> None:
    """Processes that end before there is time to compare do not price and plan over and over, nor read the file if an
    engine has it; nor do those with a model of which nothing is compared, as it is tiny. The reference computes EXP."""
    pytest.importorskip("ai_edge_litert")
    is_tiny = kind != "digits"
    (tmp_path / "model.tflite").write_bytes(single(kind, [f32(2)], f32(2)) if is_tiny else DIGITS.read_bytes())
    code = f"""
import sys
import numpy as np
import nnapi
from nnapi.importers import import_cache
import_cache.SETTLED = 0
compilation = nnapi.compile(nnapi.load({str(tmp_path / "model.tflite")!r}))
model = compilation.model
assert compilation.run(np.full(model.operands[model.inputs[0]].type.dimensions, -1, np.float32))[0].any()
print(compilation._trial is not None)
print(*sys.modules)
"""
    kept = {**os.environ, "NNAPI_CACHE_DIR": str(tmp_path), "DEBUG_NN_CPUONLY": "0"}
    kept.pop("NNAPI_TUNING", None)
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=kept)
        assert not done.returncode, done.stderr
    is_on_trial, loaded = done.stdout.splitlines()
    assert (is_on_trial == "True") is ("nnapi.runtime.choice.trial" in loaded.split()) is not is_tiny
    needless = {"nnapi.runtime.choice.predict", "nnapi.runtime.planning.planner", "nnapi.contract.workload"}
    needless |= {"nnapi.importers.graph", "nnapi.drivers.litert.compile", "openvino"} if kind != "EXP" else set()
    assert not needless & {*loaded.split()}, needless & {*loaded.split()}


@pytest.mark.slow
def test_a_file_that_is_known_needs_no_declarations(tmp_path: Path) -> None:
    """Nor logging, nor the rest of what takes milliseconds to import, from the second process on."""
    pytest.importorskip("ai_edge_litert")
    (tmp_path / "model.tflite").write_bytes(single("ABS", [f32(2)], f32(2)))
    code = f"""
import sys
import numpy as np
import nnapi
from nnapi.importers import import_cache
import_cache.SETTLED = 0
model = nnapi.load({str(tmp_path / "model.tflite")!r})
compilation = nnapi.compile(model, "xnnpack-cpu", cache={str(tmp_path / "cache")!r})
assert compilation.run(np.array([-1, 2], np.float32))[0].tolist() == [1, 2]
print(*sys.modules)
"""
    kept = {**os.environ, "NNAPI_CACHE_DIR": str(tmp_path), "NNAPI_TUNING": "1", "DEBUG_NN_CPUONLY": "0"}
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=kept)
        assert not done.returncode, done.stderr
    loaded = set(done.stdout.split())
    assert "nnapi.drivers.litert.interpreter" in loaded
    needless = {"logging", "pathlib", "hashlib", "queue", "statistics", "nnapi.drivers.isolated"}
    needless |= {
        f"nnapi.model.{name}" for name in ("add_operation", "matching", "operation", "parameter", "validation")
    }
    needless |= {
        "nnapi.operation_codes",
        "nnapi.trace.recorder",
        "nnapi.formats.tflite.graph",
        "nnapi.drivers.litert.compile",
        "nnapi.trace.profile",
        "openvino",
    }
    assert not needless & loaded, needless & loaded
