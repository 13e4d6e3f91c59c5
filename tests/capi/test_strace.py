"""NNAPI_STRACE: what a process tells of its calls, and that it is what NNAPI_RECORD holds."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from nnapi.capi import installation
from nnapi.capi.strace import Begin, End, decode, encode
from nnapi.cli.strace import listen
from nnapi.testing.corpus import Corpus
from nnapi.testing.example import Example
from tests.clients.test_clients import COMPILER, compiled

pytestmark = pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem()))

Ended = tuple[Begin, End]

CLIENT = """
import ctypes, mmap
import numpy as np
from nnapi.capi.client import library
from nnapi.model.c_structures import OperandTypeStruct, ChannelStruct
from nnapi.codes import OperandCode
from nnapi.model.operand import OperandType, tensor

lib, handle, number = library(), ctypes.c_size_t(), ctypes.c_int64()
value = np.array([-3], np.int32)
lib.ANeuralNetworks_getDevice(0, ctypes.byref(handle))
device = handle.value
lib.ANeuralNetworksDevice_getType(device, ctypes.byref(number))
lib.ANeuralNetworksDevice_getFeatureLevel(device, ctypes.byref(number))
lib.ANeuralNetworksModel_create(ctypes.byref(handle))
model = handle.value
for type in (tensor("uint8", (2, 3), 0.5, 7), OperandType(OperandCode.INT32)):
    lib.ANeuralNetworksModel_addOperand(model, ctypes.byref(OperandTypeStruct.of(type)))
lib.ANeuralNetworksModel_setOperandValue(model, 1, value.ctypes.data, 4)
lib.ANeuralNetworksModel_setOperandValue(model, 0, bytes(range(6)), 6)
lib.ANeuralNetworksModel_addOperation(model, 19, 1, (ctypes.c_uint32 * 1)(0), 0, None)
lib.ANeuralNetworksModel_finish(model)
lib.ANeuralNetworksModel_addOperand(model, 64)  # a pointer to nothing: the call does not look, nor may we
lib.ANeuralNetworksCompilation_setCaching(0, b"here", bytes(range(32)))
lib.ANeuralNetworksCompilation_createForDevices(model, (ctypes.c_size_t * 2)(device, 0), 2, ctypes.byref(handle))
lib.ANeuralNetworksModel_free(model)
"""


def calls_of(command: list[str], monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[Ended]:
    """Run a program to its end, and what it told of its calls in the order in which they ended."""
    messages: list[Begin | End] = []
    for name, value in {"NNAPI_QUIET": "1", **variables}.items():
        monkeypatch.setenv(name, value)
    assert listen(command, messages.append) == 0
    return pair(messages)


def pair(messages: list[Begin | End]) -> list[Ended]:
    begun: dict[tuple[int, int], list[Begin]] = {}
    ended: list[Ended] = []
    for message in messages:
        stack = begun.setdefault((message.process, message.thread), [])
        if isinstance(message, Begin):
            stack.append(message)
        else:
            ended.append((stack.pop(), message))
    assert not any(begun.values())
    return ended


def line(call: Ended) -> str:
    begin, end = call
    words = f"{begin.function.removeprefix('ANeuralNetworks')}({begin.arguments}) {end.result} {end.outputs}".rstrip()
    return re.sub(r"0x[0-9a-f]{4,}", "H", words)


def test_messages_survive() -> None:
    begin = Begin(1, 2, "ANeuralNetworksModel_create", 'name="ä"')
    end = End(1, 2, "NO_ERROR", "model=0x1000", "", 12)
    assert [decode(encode(begin)), decode(encode(end))] == [begin, end]


@pytest.mark.slow
def test_arguments_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = calls_of([sys.executable, "-c", CLIENT], monkeypatch, DEBUG_NN_CPUONLY="1")
    assert [line(call) for call in calls] == [
        '_getDevice(devIndex=0) NO_ERROR device="nnapi-reference"',
        'Device_getType(device="nnapi-reference") NO_ERROR type=DEVICE_CPU',
        'Device_getFeatureLevel(device="nnapi-reference") NO_ERROR featureLevel=FEATURE_LEVEL_8',
        "Model_create() NO_ERROR model=H",
        "Model_addOperand(model=H, type=TENSOR_QUANT8_ASYMM[2, 3] (scale 0.5, zero point 7)) NO_ERROR",
        "Model_addOperand(model=H, type=INT32) NO_ERROR",
        "Model_setOperandValue(model=H, index=1, buffer=-3, length=4) NO_ERROR",
        "Model_setOperandValue(model=H, index=0, buffer=H (00 01 02 03 04 05), length=6) NO_ERROR",
        "Model_addOperation(model=H, type=RELU, inputCount=1, inputs=[0], outputCount=0, outputs=null) UNEXPECTED_NULL",
        "Model_finish(model=H) BAD_DATA",
        "Model_addOperand(model=H, type=0x40) BAD_STATE",
        f'Compilation_setCaching(compilation=null, cacheDir="here", token={bytes(range(32)).hex()}) UNEXPECTED_NULL',
        'Compilation_createForDevices(model=H, devices=["nnapi-reference", null], numDevices=2) UNEXPECTED_NULL',
        "Model_free(model=H)",
    ]
    assert [end.reason for begin, end in calls if "setCaching" in begin.function] == ["compilation is null"]
    assert all(end.nanoseconds > 0 for _, end in calls)


PROGRAMS = [
    pytest.param(name, marks=[] if name == "branches" else pytest.mark.slow)
    for name in ("branches", "run", "memories", "frees", "threads", "buffers")
]


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="no C compiler")
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_are_what_is_recorded(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The models, and how often each was run, are made anew from the calls that were told."""
    record = tmp_path / "record.npz"
    calls = calls_of([str(compiled(program, tmp_path))], monkeypatch, NNAPI_RECORD=str(record))
    examples = list(Corpus(record).examples())
    assert sorted(rebuild(calls)) == sorted(describe_recorded(examples))


def rebuild(calls: list[Ended]) -> Iterator[tuple[list[str], list[str], int]]:
    """Operand types and operations (which finish sorts) of each model whose finish was called, and its runs."""
    succeeded = [(begin, end) for begin, end in calls if end.result == "NO_ERROR"]

    def values(function: str, argument: str, model: str) -> list[str]:
        pattern = re.compile(rf"model={model}, (?:.*, )?{argument}=(.*?)(?:, \w+=.*)?$")
        found = (pattern.match(b.arguments) for b, _ in succeeded if b.function == f"ANeuralNetworksModel_{function}")
        return [match[1] for match in found if match]

    made = {
        end.outputs: begin.arguments
        for begin, end in succeeded
        if begin.function.endswith(("_create", "_createForDevices"))
    }
    runs: Counter[str] = Counter()
    for begin, _ in calls:
        if re.search(r"_(compute|burstCompute|startCompute\w*)$", begin.function):
            execution = re.match(r"execution=\w+", begin.arguments)
            compilation = execution and re.match(r"compilation=\w+", made[execution[0]])
            found = compilation and re.match(r"model=(\w+)", made[compilation[0]])
            if found:
                runs[found[1]] += 1
    finished = {b.arguments.partition("=")[2] for b, _ in calls if b.function == "ANeuralNetworksModel_finish"}
    for model in finished & {end.outputs.partition("=")[2] for _, end in succeeded}:
        types = [re.sub(r"[\[(].*", "", text).strip() for text in values("addOperand", "type", model)]
        yield types, sorted(values("addOperation", "type", model)), runs[model]


def describe_recorded(examples: list[Example]) -> Iterator[tuple[list[str], list[str], int]]:
    models: dict[str, list[Example]] = {}
    for example in examples:
        models.setdefault(example.name.partition("_run_")[0], []).append(example)
    for runs in models.values():
        graph = runs[0].main
        types = ["MODEL" if operand.type == "SUBGRAPH" else operand.type for operand in graph.operands]
        count = sum("_run_" in example.name for example in runs)
        yield types, sorted(operation.type for operation in graph.operations), count


@pytest.mark.slow
def test_a_listener_that_is_not_there(tmp_path: Path) -> None:
    """It is said once, and everything goes on without."""
    script = "from nnapi.capi.client import library; import ctypes; library().ANeuralNetworks_getDeviceCount(None)"
    environment = os.environ | {"NNAPI_STRACE": str(tmp_path / "nowhere")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert f"nnapi: NNAPI_STRACE: {tmp_path}/nowhere: No such file or directory\n" in done.stderr
