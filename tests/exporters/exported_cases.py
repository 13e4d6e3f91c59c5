"""Examples that leave as files: what LiteRT, ONNX Runtime and the importers make of those."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi
from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import File
from nnapi.model.operand import OperandType
from nnapi.testing.build import build
from nnapi.testing.compare import judge
from nnapi.testing.divergence import each_alone
from nnapi.testing.example import Example, OperandSource

Arrays = Sequence[np.ndarray[Any, Any]]


class Outcome(NamedTuple):
    """``kind`` is passed, frozen (passed once all inputs but the first are constants, as in networks), refused or
    wrong; ``reason`` says why."""

    kind: str
    reason: str = ""


def run_litert(path: Path, inputs: Arrays) -> Arrays:
    """Return the results of LiteRT's built-in kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(str(path), num_threads=1, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array.astype(detail["dtype"], copy=False))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run_onnxruntime(path: Path, inputs: Arrays) -> Arrays:
    """Return the results of ONNX Runtime on the CPU, with its own graph rewriting."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    wanted = {
        each.name: array.astype(np.bool_) if each.type == "tensor(bool)" else array
        for each, array in zip(session.get_inputs(), inputs, strict=True)
    }
    outputs: Arrays = session.run(None, wanted)
    return outputs


def run_again(path: Path, inputs: Arrays) -> Arrays:
    """Import the file and return the reference's results."""
    return nnapi.compile(nnapi.load(path), "nnapi-reference").run(*inputs)


WAYS: dict[str, tuple[str, Callable[[Path, Arrays], Arrays]]] = {
    "LiteRT": (".tflite", run_litert),
    "nnapi, .tflite": (".tflite", run_again),
    "ONNX Runtime": (".onnx", run_onnxruntime),
    "nnapi, .onnx": (".onnx", run_again),
}
"""The runner of each format."""


def outcome(example: Example, way: str, folder: Path) -> Outcome:
    """Export and run an example as it is or, if that is refused, with all inputs but the first as constants."""
    found = _run_as_file(example, way, folder)
    if found.kind != "refused" or len(example.main.inputs) == 1:
        return found
    again = _run_as_file(freeze(example), way, folder)
    return Outcome("frozen", found.reason) if again.kind == "passed" else found if again.kind == "refused" else again


def freeze(example: Example) -> Example:
    """The example with all inputs but the first as constants, or left out where they are omitted."""
    first, *others = example.main.inputs
    operands = list(example.main.operands)
    for index in others:
        data = example.inputs[index]
        source = OperandSource.NO_VALUE if data is None else OperandSource.CONSTANT_COPY
        operands[index] = replace(operands[index], lifetime=source, data=data)
    graph = replace(example.main, operands=tuple(operands), inputs=(first,))
    return replace(example, main=graph, inputs={first: example.inputs[first]})


def _run_as_file(example: Example, way: str, folder: Path) -> Outcome:
    suffix, run = WAYS[way]
    path = folder / f"example{suffix}"
    try:
        model = build(example)
        nnapi.export(model, path)
    except NnapiError as error:
        return Outcome("refused", _list_reasons(error.message))
    names = list_names(path)
    if len(set(names)) < len(names) or "" in names:
        return Outcome("wrong", f"names that are missing or repeated: {sorted(names)}")
    inputs = [example.inputs[index] for index in example.main.inputs]
    if any(array is None for array in inputs):
        return Outcome("refused", "an input is omitted")
    try:
        found = run(path, [array for array in inputs if array is not None])
    except NnapiError as error:
        return Outcome("refused", f"nnapi cannot import the file: {_list_operators(error.message)}")
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {' '.join(str(error).split())}")
    expected = [example.outputs[index] for index in example.main.outputs]
    found = [a.reshape(b.shape) if a.size == b.size else a for a, b in zip(found, expected, strict=True)]
    difference = judge(example, found)
    return Outcome("passed") if difference is None else Outcome("wrong", str(difference))


def list_names(path: Path) -> list[str]:
    """Return the names of all tensors of a .tflite file or values of an .onnx file, also in nested graphs."""
    if path.suffix == ".tflite":
        file = File(memoryview(path.read_bytes()))
        return [tensor.name for i in range(file.subgraph_count) for tensor in file.subgraph(i).tensors]
    import onnx

    def list_values(graph: onnx.GraphProto) -> Iterator[str]:
        yield from (value.name for value in (*graph.input, *graph.initializer))
        for node in graph.node:
            yield from node.output
            yield from (name for attribute in node.attribute for name in list_values(attribute.g))

    return list(list_values(onnx.load(path, load_external_data=False).graph))


def _list_reasons(message: str) -> str:
    """Return the refused operations and their reasons, without numbers of operations and operands."""
    text = message.partition(" cannot be written as ")[2].partition(": ")[2] or message
    return re.sub(r"( ×\d+)? \((#[^)]*|operand \d+)\)", "", text)


def _list_operators(message: str) -> str:
    """Return the refused operators of an importer's message, without the name of the file."""
    return message.rpartition(" uses operations that NNAPI cannot express: ")[2]


def run_network(path: Path, way: str, folder: Path) -> Outcome:
    """How far a network's file is from what the reference computes of the model: the reason says it."""
    suffix, run = WAYS[way]
    try:
        model = nnapi.load(path)
        nnapi.export(model, folder / f"network{suffix}")
    except NnapiError as error:
        return Outcome("refused", error.message)
    rng = np.random.default_rng(1)
    inputs = [_random(model.operands[index].type, rng) for index in model.inputs]
    ours = nnapi.compile(model, "nnapi-reference").run(*inputs)
    try:
        theirs = run(folder / f"network{suffix}", inputs)
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {' '.join(str(error).split())}")
    text = "; ".join(_distance(*pair) for pair in zip(ours, theirs, strict=True))
    if way != "LiteRT":
        return Outcome("passed", text)
    try:
        originals = run(path, inputs)
    except (RuntimeError, ValueError) as error:
        first = " ".join(str(error).split()).partition(". ")[0]
        return Outcome("passed", f"{text} (LiteRT refuses the original file: {first})")
    apart = "; ".join(_distance(*pair) for pair in zip(originals, theirs, strict=True))
    return Outcome("passed", text if apart == text else f"{text} (original file: {apart})")


def _random(type: OperandType, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    shape = [size or 1 for size in type.dimensions]
    if type.dtype.kind == "f":
        return rng.uniform(-1, 1, shape).astype(type.dtype)
    limits = np.iinfo(type.dtype) if type.is_quantized else np.iinfo(np.int8)
    low = limits.min if type.is_quantized else 0
    return rng.integers(low, limits.max + 1, shape).astype(type.dtype)


def _distance(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> str:
    """Describe the largest difference: of floats relative to the largest, of other values in steps."""
    apart = np.abs(a.astype(np.float64) - b.reshape(a.shape).astype(np.float64))
    if a.dtype.kind != "f":
        steps = int(apart.max(initial=0))
        return f"{steps} step{'s' * (steps > 1)}, {np.mean(apart == 0):.1%} equal" if steps else "equal"
    return f"{apart.max(initial=0) / (np.abs(a).max(initial=0) or 1):.1e}"


CLOSE = 1e-4
"""Permitted difference of floats, relative to the largest; quantized values may be one step off, others not at all."""


def run_operations(path: Path, way: str, folder: Path) -> Iterator[tuple[str, Outcome]]:
    """Each operation of a network as a file of its own, on what the reference gives to it on random inputs: its name,
    and passed, refused or wrong. What passes says how far its results are from the reference's."""
    suffix, run = WAYS[way]
    model = nnapi.load(path)
    rng = np.random.default_rng(1)
    inputs = [_random(model.operands[index].type, rng) for index in model.inputs]
    for call, part in each_alone(model, inputs):
        yield call.name, _run_operation(part, folder / f"operation{suffix}", run)


def _run_operation(part: Example, path: Path, run: Callable[[Path, Arrays], Arrays]) -> Outcome:
    given = [part.inputs[index] for index in part.main.inputs]
    try:
        nnapi.export(build(part), path)
    except NnapiError as error:
        return Outcome("refused", _list_reasons(error.message))
    try:
        found = run(path, [array for array in given if array is not None])
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {' '.join(str(error).split())}")
    text, is_close = [], []
    for (index, ours), theirs in zip(part.outputs.items(), found, strict=True):
        assert ours is not None
        text.append(_distance(ours, theirs))
        is_close.append(_is_close(ours, theirs, bool(part.main.operands[index].scale)))
    return Outcome("passed" if all(is_close) else "wrong", "; ".join(text))


def _is_close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], in_codes: bool) -> bool:
    apart = np.abs(a.astype(np.float64) - b.reshape(a.shape).astype(np.float64)).max(initial=0)
    if a.dtype.kind == "f":
        return bool(apart <= CLOSE * np.abs(a).max(initial=0))
    return bool(apart <= in_codes)
