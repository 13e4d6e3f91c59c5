"""Networks in TFLite Micro: each tensor is the one of :mod:`nnapi.testing.golden.recording`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.formats.tflite.reader import File
from nnapi.samples import find_sample
from nnapi.testing.golden.recording import record
from tests.testing.golden.golden_cases import draw

runtime: Any = pytest.importorskip("tflite_micro.python.tflite_micro.runtime", reason="tflite-micro is not installed")
NETWORKS = "tflm_person_detect_int8", "tiny_kws_int8", "tiny_vww_96_int8"
ARENA = 2**24


def need_equal(file: Path) -> None:
    """Compare results by name. SOFTMAX may differ by a step, because TFLite Micro's exponentials have fewer bits."""
    model = nnapi.load(file)
    (index,) = model.inputs
    shape = [size or 1 for size in model.operands[index].type.dimensions]
    golden = record(model, [draw(model.operands[index].type.with_dimensions(shape))])
    arrays = {tensor.index: tensor.array for tensor in golden.tensors}
    preserving = runtime.InterpreterConfig.kPreserveAllTensors
    interpreter = runtime.Interpreter.from_file(str(file), arena_size=ARENA, intrepreter_config=preserving)
    interpreter.set_input(arrays[index], 0)
    interpreter.invoke()
    numbers = {tensor.name: tensor.index for tensor in File(memoryview(file.read_bytes())).subgraph(0).tensors}
    compared = 0
    for operation in golden.operations:
        name = model.operands[operation.outputs[0]].name
        if name in numbers:
            found = interpreter.GetTensor(numbers[name], 0)["tensor_data"]
            right = arrays[operation.outputs[0]].reshape(found.shape)
            apart = np.abs(found.astype(np.int64) - right).max()
            assert apart <= (operation.name == "SOFTMAX"), f"{operation.name} (#{operation.number})"
            compared += 1
    assert compared > len(golden.operations) / 2


def test_digits() -> None:
    sample = find_sample("digits")
    assert sample is not None
    need_equal(sample)


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.parametrize("name", NETWORKS)
def test_networks(name: str, shared: Path) -> None:
    need_equal(shared / "models" / f"{name}.tflite")
