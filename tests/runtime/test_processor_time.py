"""The processor time of runs on one thread: on each device, and on the plan that is chosen by default."""

import os
import subprocess
import sys

import pytest

ENGINES = {
    "nnapi-reference": "numpy",
    "xnnpack-cpu": "ai_edge_litert",
    "openvino-cpu": "openvino",
    "": "ai_edge_litert",
}
"""Devices, and the packages that they need. The default has no name."""
SHARE = 1.05
"""Processor time of a run, divided by that of the thread that runs: more means that other threads compute. It is at
most the wall time of the run, and does not depend on other processes."""
PROGRAM = """
import sys, time
import numpy as np
import nnapi

def large():
    b = nnapi.Builder("large")
    x, random = b.input(nnapi.tensor("float32", (1, 48, 48, 32))), np.random.default_rng(0)
    for _ in range(4):
        filter = (random.standard_normal((32, 3, 3, 32)) / 17).astype("f")
        x = b.conv_2d(x, filter, np.zeros(32, "f"), 1, 1, 1, 1)
    b.output(x)
    return b.finish()

with nnapi.settings(tuning=False):
    compilation = nnapi.compile(large(), sys.argv[1] or None, threads=1, cache=False)
given = np.ones((1, 48, 48, 32), np.float32)
for _ in range(2):
    compilation.run(given)
mine, all = time.thread_time(), time.process_time()
while time.thread_time() - mine < 0.15:
    compilation.run(given)
print((time.process_time() - all) / (time.thread_time() - mine))
"""


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.parametrize("device", ENGINES, ids=[name or "default" for name in ENGINES])
def test_a_run_on_one_thread_takes_the_time_of_one(device: str) -> None:
    pytest.importorskip(ENGINES[device])
    kept = {**os.environ, "DEBUG_NN_CPUONLY": "0"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, device], capture_output=True, text=True, env=kept, timeout=300
    )
    assert not done.returncode, done.stderr
    assert float(done.stdout) <= SHARE
