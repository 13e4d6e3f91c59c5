"""A process that is forked from one that used the engine is told so, and computes without it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")

pytestmark = pytest.mark.engine

PROGRAM = """
import multiprocessing, sys
import numpy as np
import nnapi
from nnapi.model.operand import tensor

def compiled(devices):
    builder = nnapi.Builder()
    x = builder.input(tensor("float32", (1, 8, 8, 4)))
    builder.output(builder.relu(builder.abs(x)))
    return nnapi.compile(builder.finish(), devices)

def compute(compilation):
    return float(compilation.run(np.ones((1, 8, 8, 4), np.float32))[0].max())

def ask(which):
    try:
        return str(compute(before if which == "before" else compiled(None if which == "default" else [which])))
    except nnapi.NnapiError as error:
        return str(error)

before = compiled(["openvino-cpu"])
assert compute(before) == 1
with multiprocessing.get_context("fork").Pool(1) as pool:
    for answer in pool.map(ask, sys.argv[1:]):
        print(answer)
"""


def test_a_forked_child_computes_without_the_engine(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", PROGRAM, "openvino-cpu", "before", "default"],
        env={"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    refused, stopped, computed = ran.stdout.splitlines()
    assert "no device supports ABS (#0)" in refused
    assert "OpenVINO was in use when this process was forked" in refused
    assert "OpenVINO was in use when this process was forked" in stopped
    assert computed == "1.0"
