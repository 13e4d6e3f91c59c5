"""Every operation has a declaration, a meaning, and a module named after it."""

import pkgutil
import re
import subprocess
import sys
from importlib import import_module

import nnapi.ops
from nnapi.codes import CONTROL_FLOW
from nnapi.model.operation import REGISTRY, Operation
from nnapi.operation_codes import CODES, MODULES, NAMES, Code
from tests.rows import each_row


def test_all_operations_are_declared() -> None:
    assert set(REGISTRY) == set(NAMES)
    assert all(operation.code == code for code, operation in REGISTRY.items())


@each_row("code", CODES.values(), ids=lambda code: code.name)
def test_shape_function_and_kernel(code: Code) -> None:
    operation = REGISTRY[code]
    assert bool(operation.shape_function) == (code not in CONTROL_FLOW)
    assert bool(operation.kernels) == (code not in CONTROL_FLOW)


@each_row("code", CODES.values(), ids=lambda code: code.name)
def test_names_of_one_argument_list_differ(code: Code) -> None:
    for form in REGISTRY[code].overloads:
        names = [slot.name for slot in (*form.inputs, *REGISTRY[code].outputs)]
        assert len(set(names)) == len(names)


def test_docstrings_name_the_operations_of_their_module() -> None:
    modules = [import_module(f"nnapi.ops.{module.name}") for module in pkgutil.iter_modules(nnapi.ops.__path__)]
    named = {
        operation.name
        for module in modules
        for operation in vars(module).values()
        if isinstance(operation, Operation) and re.search(rf"\b{operation.name}\b", module.__doc__ or "")
    }
    assert named == {operation.name for operation in REGISTRY.values()}


def test_modules_declare_the_operations_that_they_are_listed_with() -> None:
    for home, names in MODULES.items():
        declared = vars(import_module(f"nnapi.ops.{home}")).values()
        assert set(names) <= {operation.name for operation in declared if isinstance(operation, Operation)}, home


def test_an_operation_is_imported_when_it_is_asked_for() -> None:
    code = (
        "import sys; from nnapi.model.operation import REGISTRY; from nnapi.codes import OperationCode as O; "
        "assert O.LSTM in REGISTRY and 1000 not in REGISTRY and len(REGISTRY) > len(O); "
        "REGISTRY[O.LOG_SOFTMAX]; print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "nnapi.ops.softmax" in loaded
    assert "nnapi.ops.lstm" not in loaded
