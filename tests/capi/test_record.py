"""NNAPI_RECORD: what a client builds and runs, as a file that can be shown and run again."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.capi import installation
from nnapi.cli import app
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import tensor
from nnapi.testing.conformance import run
from nnapi.testing.corpus import Corpus
from nnapi.testing.record import example_of
from nnapi.testing.suite.result import Status
from tests.warm_python import warm_python

built = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))

CLIENT = """
import numpy as np
from nnapi.capi import client
from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.operand import OperandType, tensor

def binary(code):
    model = client.Model(code.name)
    for _ in range(3):
        model.add_operand(tensor("float32", (2,)))
    model.add_operand(OperandType(OperandCode.INT32))
    model.set_operand_value(3, np.int32(0))
    model.add_operation(code, (0, 1, 3), (2,))
    model.identify_inputs_and_outputs((0, 1), (2,))
    model.finish()
    return model

model = client.Model()
for type in (tensor("bool8", (1,)), OperandType(OperandCode.MODEL), OperandType(OperandCode.MODEL),
             *[tensor("float32", (2,))] * 3):
    model.add_operand(type)
model.set_operand_value_from_model(1, binary(OperationCode.ADD))
model.set_operand_value_from_model(2, binary(OperationCode.MUL))
model.add_operation(OperationCode.IF, (0, 1, 2, 3, 4), (5,))
model.identify_inputs_and_outputs((0, 3, 4), (5,))
model.finish()
compilation = client.Compilation(model)
compilation.set_caching("/nowhere", bytes(32))
compilation.finish()
for truth in (True, False):
    execution = client.Execution(compilation)
    result = np.empty(2, np.float32)
    execution.set_input(0, np.array([truth], np.uint8))
    execution.set_input(1, np.array([3, 4], np.float32))
    execution.set_input(2, np.array([5, 6], np.float32))
    execution.set_output(0, result)
    execution.start_compute().wait() if truth else execution.compute()
    assert result.tolist() == ([8, 10] if truth else [15, 24])

broken = client.Model()
broken.add_operand(tensor("float32", (2,)))
try:
    broken.finish()
except BadDataError:
    print("refused")
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    file = tmp_path / "bug.npz"
    environment = os.environ | {"NNAPI_RECORD": str(file), "NNAPI_QUIET": "1"}
    done = subprocess.run([warm_python(), "-c", CLIENT], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("refused\n", "")
    return file


@pytest.mark.slow
@built
def test_runs_again(recorded: Path) -> None:
    results = list(run(Corpus(recorded)))
    assert {result.status for result in results} == {Status.PASSED}
    assert {result.example for result in results} == {"model_2_run_0", "model_2_run_1"}
    examples = {example.name: example for example in Corpus(recorded).examples()}
    expected = {index: array.tolist() for index, array in examples["model_2_run_0"].outputs.items()}
    assert expected == {5: [8, 10]}
    assert "recorded on" in examples["model_2_run_0"].spec
    assert "cache /nowhere, token 0000" in examples["model_2_run_0"].spec


@pytest.mark.slow
@built
def test_can_be_shown(recorded: Path) -> None:
    result = CliRunner().invoke(app, ["info", str(recorded)])
    assert result.exit_code == 0, result.output
    assert "model_2  2 runs, 1 operation" in result.stdout
    assert "model_3  refused: " in result.stdout
    as_json = CliRunner().invoke(app, ["info", str(recorded), "--json"])
    assert [model["model"] for model in json.loads(as_json.stdout)["models"]] == [f"model_{n}" for n in range(4)]


@pytest.mark.slow
@built
def test_can_leave_as_files(recorded: Path, tmp_path: Path) -> None:
    """Also the branches of an IF, which the application made first; what it did not finish is listed."""
    folder = tmp_path / "models"
    result = CliRunner().invoke(app, ["export", str(recorded), "-o", str(folder)])
    assert result.exit_code != 0
    assert "model 3: " in result.output
    assert [path.name for path in sorted(folder.iterdir())] == [f"bug-{number}.tflite" for number in range(3)]
    example = next(each for each in Corpus(recorded).examples() if each.name == "model_2_run_0")
    inputs = [array for array in example.inputs.values() if array is not None]
    (found,) = nnapi.compile(nnapi.load(folder / "bug-2.tflite"), "nnapi-reference").run(*inputs)
    assert found.tolist() == example.outputs[5].tolist()


def test_constants_of_a_model_that_is_not_finished() -> None:
    model = Model("half")
    for _ in range(3):
        model.add_operand(tensor("float32", (2,)))
    values = np.array([1, 2], np.float32)
    model.set_operand_value(0, values)
    model.set_operand_value_from_memory(1, Memory.from_array(values), 0, 8)
    example = example_of(model, "half")
    assert [None if operand.data is None else operand.data.tolist() for operand in example.main.operands] == [
        [1, 2],
        [1, 2],
        None,
    ]
    assert not example.harness.generated
