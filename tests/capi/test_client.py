"""The runtime's classes by way of C: the same answers, the same exceptions."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import nnapi
from nnapi.capi import client, installation
from nnapi.cli import app
from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, BadStateError, OutputInsufficientSizeError
from nnapi.model.operand import OperandType, tensor
from nnapi.testing.conformance import run
from nnapi.testing.corpus import Corpus
from nnapi.testing.suite.result import Status

pytestmark = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))


def sum_model(dimensions: tuple[int, ...] = (3,)) -> client.Model:
    model = client.Model()
    types = [tensor("float32", dimensions), tensor("float32", dimensions), OperandType(OperandCode.INT32)]
    for type in (*types, tensor("float32", dimensions)):
        model.add_operand(type)
    model.set_operand_value(2, np.int32(0))
    model.add_operation(OperationCode.ADD, (0, 1, 2), (3,))
    model.identify_inputs_and_outputs((0, 1), (3,))
    model.finish()
    return model


def test_runs() -> None:
    compilation = client.Compilation(sum_model())
    compilation.finish()
    execution = client.Execution(compilation)
    result = np.empty(3, np.float32)
    execution.set_input(0, np.array([1, 2, 3], np.float32))
    execution.set_input(1, np.array([4, 5, 6], np.float32))
    execution.set_output(0, result)
    execution.compute()
    assert result.tolist() == [5, 7, 9]
    assert execution.output_operand_dimensions(0) == (3,)


def test_long_constant_may_change_until_finish_is_called() -> None:
    model = client.Model()
    for _ in range(3):
        model.add_operand(tensor("float32", (64,)))
    model.add_operand(OperandType(OperandCode.INT32))
    weights = np.ones(64, np.float32)
    model.set_operand_value(1, weights)
    model.set_operand_value(3, np.int32(0))
    model.add_operation(OperationCode.ADD, (0, 1, 3), (2,))
    model.identify_inputs_and_outputs((0,), (2,))
    weights[:] = 2
    model.finish()
    weights[:] = 3
    compilation = client.Compilation(model)
    compilation.finish()
    execution, result = client.Execution(compilation), np.empty(64, np.float32)
    execution.set_input(0, np.zeros(64, np.float32))
    execution.set_output(0, result)
    execution.compute()
    assert set(result.tolist()) == {2.0}


def test_codes_come_back_as_exceptions() -> None:
    model = client.Model()
    with pytest.raises(BadDataError, match=r"ANeuralNetworksModel_addOperand: BAD_DATA: FLOAT32 .*no dimensions"):
        model.add_operand(OperandType(OperandCode.FLOAT32, (1,)))
    with pytest.raises(BadStateError, match="not finished"):
        client.Compilation(model)
    compilation = client.Compilation(sum_model((0,)))
    compilation.finish()
    execution = client.Execution(compilation)
    for index in range(2):
        execution.set_input(index, np.zeros(2, np.float32))
    execution.set_output(0, bytearray(4))
    with pytest.raises(OutputInsufficientSizeError):
        execution.compute()


def test_extension_numbers_are_the_runtime_s_own() -> None:
    number = client.ADDRESS()
    model = client.Model()
    client.call(
        "ANeuralNetworksModel_getExtensionOperandType",
        model.handle,
        b"com.example.c",
        7,
        client.ctypes.byref(number),  # type: ignore[attr-defined]
    )
    assert number.value & 0xFFFFFFFF == nnapi.Model().extension_operand_type("com.example.c", 7)


FORK = """
import os
from nnapi.capi import client
client.Model()
child = os.fork()
if not child:
    os._exit(0 if client.make_handle("ANeuralNetworksModel_create") else 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
def test_child_that_python_has_forked_goes_on() -> None:
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.slow
def test_a_fork_where_no_client_has_come() -> None:
    """The functions of the library can be imported by themselves, as tools do."""
    program = "import nnapi.capi.library, os\nif os.fork(): print(os.wait()[1])"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_failing_calls_of_threads_keep_their_own_reasons() -> None:
    def reason(name: str) -> str:
        getattr(client.library(), name)(None)
        barrier.wait()
        said: bytes = client.library().nnapi_last_error()
        return said.decode()

    names = ["ANeuralNetworksModel_finish", "ANeuralNetworksEvent_wait", "ANeuralNetworksCompilation_finish"]
    barrier = threading.Barrier(len(names))
    with ThreadPoolExecutor(len(names)) as pool:
        for name, said in zip(names, pool.map(reason, names), strict=True):
            assert said.startswith(name)


@pytest.mark.parametrize("file", ["V1_3/if_simple.npz", "V1_2/quantize.npz", "V1_0/add.npz"])
def test_corpus(corpus: Corpus, file: str) -> None:
    results = list(run(corpus, filter=lambda entry: entry.file == file, runtime=client.__name__))
    assert results
    assert [result for result in results if result.status != Status.PASSED] == []


def test_command() -> None:
    options = ["--filter", "add*", "--variants", "plain", "--via-c"]
    result = CliRunner().invoke(app, ["check", *options])
    assert result.exit_code == 0, result.output
    assert "no run failed" in result.output


def test_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installation, "FOLDER", tmp_path)
    result = CliRunner().invoke(app, ["check", str(tmp_path), "--via-c"])
    assert result.exit_code == 2
    assert "C compiler" in result.stderr


FREED = """
import numpy as np
import nnapi
from nnapi.capi import client

model = client.Model()
for type in (nnapi.tensor("float32", (0,)), nnapi.tensor("float32", (0,))):
    model.add_operand(type)
model.add_operation(nnapi.OperationCode.ABS, (0,), (1,))
model.identify_inputs_and_outputs((0,), (1,))
model.finish()
compilation = client.Compilation(model, [nnapi.device("xnnpack-cpu")])
compilation.finish()
for count in (3, 2, 3):
    execution, result = client.Execution(compilation), np.empty(count, np.float32)
    execution.set_input(0, np.full(count, -1, np.float32), nnapi.tensor("float32", (count,)))
    execution.set_output(0, result)
    with compilation.burst() as burst:
        execution.burst_compute(burst)
    assert result.tolist() == [1] * count
"""


@pytest.mark.slow
def test_a_burst_that_is_freed_leaves_the_compilation() -> None:
    """On an engine, which has no session for open dimensions: in a process that has engines."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")
    environment = {name: value for name, value in os.environ.items() if name != "DEBUG_NN_CPUONLY"}
    done = subprocess.run([sys.executable, "-c", FREED], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
