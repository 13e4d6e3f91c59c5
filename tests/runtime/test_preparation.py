"""What compiling takes and what it leaves alone."""

import os
import subprocess
import sys
from pathlib import Path


def test_a_model_that_is_known_needs_nothing_that_chooses(tmp_path: Path) -> None:
    """Compiling what earlier compilations chose for loads no planner, no calibration, no comparison."""
    code = """
import sys
import nnapi
from nnapi.drivers.base import PrepareOptions
from nnapi.drivers.null import Null
from nnapi.runtime.autotune.measurements import keep_measurements, make_key
from nnapi.runtime.planning.plan import Plan, run_everything_on

builder = nnapi.Builder()
x = builder.input(nnapi.tensor("float32", (1, 8)))
builder.output(builder.logistic(x))
model, devices = builder.finish(), [nnapi.device("nnapi-reference"), nnapi.Device(Null())]
plan = Plan(model, (run_everything_on(model, devices[0].name),), (), 1.0, threads=1)
keep_measurements(make_key(model, devices, PrepareOptions()), {}, 0, plan)
assert nnapi.compile(model, devices).plan.devices == (devices[0].name,)
print(*sys.modules)
"""
    kept = {**os.environ, "NNAPI_CACHE_DIR": str(tmp_path), "NNAPI_TUNING": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=kept)
    assert not done.returncode, done.stderr
    runtime = {module.removeprefix("nnapi.runtime.") for module in done.stdout.split()}
    assert "preparation" in runtime
    assert not {"choice", "autotune.autotune", "costs.calibration", "planning.planner"} & runtime
