"""The table of functions and the headers, against the specification."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from nnapi import codes
from nnapi.capi import installation
from nnapi.capi.functions import FUNCTIONS
from nnapi.capi.handles import Handles
from nnapi.capi.prototype import PROTOTYPES
from nnapi.errors import BadDataError
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.runtime.burst import Burst
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device
from nnapi.runtime.event import Event
from nnapi.runtime.execution import Execution
from nnapi.runtime.memory import HardwareBuffer, MemoryDesc
from tests.rows import each_row

IN_C = {
    "ASharedMemory_create",
    "ASharedMemory_getSize",
    "ASharedMemory_setProt",
    "ANeuralNetworks_getSLDriverImpl",
}
"""Functions that do not call Python."""
ENUMS = (
    codes.OperandCode,
    codes.OperationCode,
    codes.FuseCode,
    codes.PaddingCode,
    codes.PreferenceCode,
    codes.DeviceTypeCode,
    codes.FeatureLevelCode,
    codes.ResultCode,
    codes.DurationCode,
    codes.PriorityCode,
)
CLASSES: dict[str, Any] = {
    "model": Model,
    "compilation": Compilation,
    "execution": Execution,
    "burst": Burst,
    "event": Event,
    "desc": MemoryDesc,
    "device": Device,
    "ahwb": HardwareBuffer,
    "buffer": HardwareBuffer,
    "Memory": Memory,
    "Event": Event,
}


@pytest.fixture(scope="module")
def api(shared: Path) -> Any:
    return json.loads((shared / "reference" / "api.json").read_text())


@pytest.mark.shared
def test_every_function_of_the_specification_is_there(api: Any) -> None:
    introduced = {
        name: (int(level), path.name)
        for path in installation.include().glob("*.h")
        for level, name in re.findall(r"Since\s+feature\s+level\s+(\d)\.\s+\*/\n\w[\w *]* (\w+)\(", path.read_text())
    }
    ours = {
        function.name: (
            function.result,
            [[parameter.type, parameter.name] for parameter in function.parameters],
            *introduced[function.name],
        )
        for function in FUNCTIONS
        if function.name.startswith("ANeuralNetworks")
    }
    theirs = {
        function["name"]: (
            function["returns"],
            function["parameters"],
            function["feature_level"],
            function["header"],
        )
        for function in api["functions"]
    }
    assert len(ours) == 75
    assert ours == theirs


@pytest.mark.shared
def test_header_has_every_number(api: Any) -> None:
    text = (installation.include() / "NeuralNetworksTypes.h").read_text()
    numbers = {
        name: int(value) for name, value in re.findall(r"^    (ANEURALNETWORKS_\w+) = (-?\d+),", text, re.MULTILINE)
    }
    for enum in api["enums"]:
        assert f"}} {enum['name']};" in text
        for value in enum["values"]:
            assert numbers[value["name"]] == value["value"]
    for constant in api["constants"][:2]:
        assert numbers[constant["name"]] == constant["value"]


def test_codes_of_the_header_are_those_of_python() -> None:
    text = (installation.include() / "NeuralNetworksTypes.h").read_text()
    for enum in ENUMS:
        members = "".join(f"    ANEURALNETWORKS_{name} = {int(code)},\n" for name, code in enum.__members__.items())
        assert f"typedef enum {{\n{members}}} {enum.__name__};\n" in text
    for name in ("MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES", "BYTE_SIZE_OF_CACHE_TOKEN"):
        assert f"    ANEURALNETWORKS_{name} = {getattr(codes, name)},\n" in text


def test_table_answers_every_prototype_of_the_headers() -> None:
    in_c = IN_C | {"nnapi_last_error"}
    assert {function.name for function in FUNCTIONS} == PROTOTYPES.keys() - in_c


def test_support_library_has_the_types_of_the_prototypes() -> None:
    text = (installation.include() / "NeuralNetworksSupportLibraryImpl.h").read_text()
    members = re.findall(r"^    (.*) \(\*(\w+)\)\((.*)\);$", text, re.MULTILINE)
    assert len(members) == 106
    for result, name, types in members:
        declared, parameters = PROTOTYPES[name]
        assert result == declared
        assert types == (", ".join(each.rpartition(" ")[0] for each in parameters.split(", ")) or "void")


@each_row("function", FUNCTIONS, ids=lambda function: function.name)
def test_python_behind_a_function_exists(function: Any) -> None:
    for node in ast.walk(ast.parse(f"({function.call or None}, {function.guard or None})")):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in CLASSES:
            kind = CLASSES[node.value.id]
            assert hasattr(kind, node.attr) or node.attr in kind.__annotations__, f"{node.value.id} has no {node.attr}"


@pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))
def test_exported_symbols_are_those_of_the_table() -> None:
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", installation.library()], capture_output=True, text=True, check=True
    )
    symbols = {line.split()[-1] for line in listed.stdout.splitlines()}
    own = {"nnapi_last_error", "nnapi_serve", "nnapi_served"}
    assert symbols == {function.name for function in FUNCTIONS} | IN_C | own


@pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))
def test_rule_162_no_device_has_an_index_that_is_too_high() -> None:
    from nnapi.capi.library import device_at  # needs the bridge

    assert device_at(0).name
    with pytest.raises(BadDataError, match="device 1000000 does not exist, there are "):
        device_at(1_000_000)


def test_handles_are_never_given_twice() -> None:
    handles, others = Handles("Model"), Handles("Event")
    first, second = handles.add("a"), others.add("b")
    assert handles[first] == "a"
    assert first != second
    with pytest.raises(BadDataError, match="not a handle of a Model"):
        handles[second]
    handles.free(first)
    with pytest.raises(BadDataError, match="has been freed"):
        handles[first]
    with pytest.raises(BadDataError):
        handles.free(first)
    assert handles.add("c") > second


def test_device_handle_is_lasting() -> None:
    handles, device = Handles("Device"), object()
    assert handles.add_once(device) == handles.add_once(device)
    assert len(handles) == 1


def test_threads_that_ask_for_a_device_at_the_same_time_get_one_handle(monkeypatch: pytest.MonkeyPatch) -> None:
    handles, device, found = Handles("Device"), object(), list[int]()
    gate, add = threading.Barrier(4), handles.add

    def add_late(value: object) -> int:
        time.sleep(0.05)  # time for the others to look too
        return add(value)

    def ask() -> None:
        gate.wait()
        found.append(handles.add_once(device))

    monkeypatch.setattr(handles, "add", add_late)
    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1
