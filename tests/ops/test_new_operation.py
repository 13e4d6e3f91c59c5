"""An operation is added by a number and one file: whoever prices, folds, fuzzes and documents operations finds it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import nnapi

NUMBER = 240
DECLARATION = '''"""SWAP_HALVES: the two halves of the last axis change places."""

import numpy as np

from nnapi.codes import OperationCode
from nnapi.model.facts import Facts, Kind, Trait
from nnapi.model.operation import Operation
from nnapi.model.parameter import Tensor, upto
from nnapi.ops.signature_types import floats

SWAP_HALVES = Operation(
    OperationCode.SWAP_HALVES,
    facts=Facts(Kind.MOVEMENT, Trait.FOLDS | Trait.MOVES | Trait.RESTATES),
    inputs=(Tensor("input", floats(), rank=upto(4)),),
    outputs=(Tensor("out", like="input"),),
    doc="made up",
)


@SWAP_HALVES.shape
def same_as_input(input):
    return input.shape


@SWAP_HALVES.kernel(kind="raw")
def swap_halves(input):
    return np.roll(input, input.shape[-1] // 2, -1)
'''
ASKED = """
import json
import sys

import numpy as np

import nnapi
from nnapi.vision.output_summaries import find_producer
from nnapi.codes import OperandCode, OperationCode
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.model.operand import OperandType
from nnapi.model.operation import REGISTRY
from tools.operations import section
from nnapi.contract.workload import find_work
from nnapi.testing.random.calls import random_call
from nnapi.testing.random.graphs import CALLABLE
from nnapi.testing.random.operation_sets import CHOOSING

found = {}
b = nnapi.Builder()
x = b.input(nnapi.tensor("float32", (1, 4)), name="x")
b.output(b.swap_halves(b.softmax(x, beta=1.0)))
model = b.finish()
found["described"] = [call.name for call in model.operations]
found["run"] = nnapi.compile(model, "nnapi-reference").run(np.log([[1, 2, 3, 4]]).astype(np.float32))[0].tolist()
found["default devices"] = nnapi.compile(model).run(np.log([[1, 2, 3, 4]]).astype(np.float32))[0].tolist()
found["priced"] = str(find_work(model, model.operations[-1]).kind)
found["read"] = OperationCode(find_producer(model)).name
type = OperandType(OperandCode.TENSOR_FLOAT32, (2,))
graph, out = Graph(Allowance(0)), Value(type, "out")
graph.emit(OperationCode.SWAP_HALVES, [graph.constant(np.float32([1, 2]))], [out])
found["folded"] = [out.array.tolist(), len(graph.steps)]
operation = REGISTRY[OperationCode.SWAP_HALVES]
found["fuzzed"] = [o.type for o in random_call(operation, np.random.default_rng(0)).main.operations]
found["judged"] = ["SWAP_HALVES" in CHOOSING, operation in CALLABLE]
found["documented"] = section(operation)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the output of a copy of the library about an operation that only the copy has."""
    package = tmp_path_factory.mktemp("src") / "nnapi"
    source = Path(nnapi.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__", "*.so", "include"))
    (package / "ops" / "swap_halves.py").write_text(DECLARATION)
    codes = package / "operation_codes.py"
    head, line, tail = codes.read_text().partition("class OperationCode(IntEnum):\n")
    docstring, quotes, members = tail.partition('"""\n\n')
    assert line
    assert quotes
    codes.write_text(f"{head}{line}{docstring}{quotes}    SWAP_HALVES = {NUMBER}\n{members}")
    environment = {"PYTHONPATH": str(package.parent), "NNAPI_TUNING": "0", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", ASKED], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_it_is_described_and_run(found: Any) -> None:
    assert found["described"] == ["SOFTMAX", "SWAP_HALVES"]
    assert found["run"] == [pytest.approx([0.3, 0.4, 0.1, 0.2])]
    assert found["default devices"] == [pytest.approx([0.3, 0.4, 0.1, 0.2])]


def test_it_is_priced_folded_and_looked_through(found: Any) -> None:
    assert found["priced"] == "movement"
    assert found["folded"] == [[2, 1], 0]
    assert found["read"] == "SOFTMAX"  # what the output means is what stood before


def test_it_is_fuzzed_and_judged(found: Any) -> None:
    assert found["fuzzed"] == ["SWAP_HALVES"]
    assert found["judged"] == [True, True]


def test_it_is_documented(found: Any) -> None:
    assert "SWAP_HALVES" in found["documented"]
