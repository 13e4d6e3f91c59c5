"""No model, however odd, takes the process down: random calls, legal by their types only, in a process of their own."""

import subprocess

import pytest

from nnapi.drivers.litert.unsafe_graphs import LARGEST_SCALE, SMALLEST_SCALE, find_violation
from nnapi.formats.tflite.graph import Operator, Tensor
from tests.warm_python import warm_python

SEEDS = 6
"""Draws for each operation that has a rule."""

WORK = f"""
import faulthandler
import numpy as np
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.drivers.litert.context import RULES
from nnapi.errors import NnapiError
from nnapi.model.operation import REGISTRY
from nnapi.compiling import compile
from nnapi.runtime.device import Device
from nnapi.testing.build import build
from nnapi.testing.random.calls import random_attempt

faulthandler.enable()
device = Device(XnnpackDriver(2))
runs = 0
for code in sorted(RULES):
    for seed in range({SEEDS}):
        example = random_attempt(REGISTRY[code], np.random.default_rng([code, seed]))
        print(REGISTRY[code].name, seed, flush=True)
        try:
            compilation = compile(build(example), [device])
            compilation.run(*(example.inputs[index] for index in example.main.inputs))
            runs += 1
        except NnapiError:
            pass
print("runs", runs)
"""


@pytest.mark.slow
@pytest.mark.engine
def test_odd_models_leave_the_process_alive() -> None:
    done = subprocess.run([warm_python(), "-c", WORK], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"after {done.stdout.splitlines()[-1:]}: {done.stderr[-2000:]}"
    assert int(done.stdout.split()[-1]) > 25


@pytest.mark.parametrize(
    ("scale", "is_taken"),
    [(2.0**-41, False), (SMALLEST_SCALE, True), (2.0**20, True), (LARGEST_SCALE, True), (2.0**41, False)],
)
def test_scales_of_the_engine_s_fixed_point(scale: float, is_taken: bool) -> None:
    reason = find_violation(Operator("DEQUANTIZE", [Tensor("i8", (2,), scale)], [Tensor("f32", (2,))], {}), set())
    assert (reason is None) == is_taken
    assert is_taken or "has scales" in reason
