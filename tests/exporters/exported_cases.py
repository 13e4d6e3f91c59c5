"""Examples that leave as files: what LiteRT, ONNX Runtime and the importers make of those."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import nnapi
from nnapi.codes import OperandCode
from nnapi.errors import NnapiError
from nnapi.testing.build import build
from nnapi.testing.compare import judge
from nnapi.testing.example import Example

Arrays = Sequence[np.ndarray[Any, Any]]
BOOL8 = OperandCode.TENSOR_BOOL8


class Outcome(NamedTuple):
    """``kind`` is passed, refused or wrong; ``reason`` says why."""

    kind: str
    reason: str = ""


def run_litert(path: Path, inputs: Arrays) -> Arrays:
    """What LiteRT's built-in kernels compute."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(str(path), num_threads=1, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array.astype(detail["dtype"], copy=False))
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def run_onnxruntime(path: Path, inputs: Arrays) -> Arrays:
    """What ONNX Runtime computes on the processor, with its own rewriting."""
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
    """What the reference computes of the file, read back."""
    return nnapi.compile(nnapi.load(path), "nnapi-reference").run(*inputs)


WAYS: dict[str, tuple[str, Callable[[Path, Arrays], Arrays]]] = {
    "LiteRT": (".tflite", run_litert),
    "nnapi, .tflite": (".tflite", run_again),
    "ONNX Runtime": (".onnx", run_onnxruntime),
    "nnapi, .onnx": (".onnx", run_again),
}
"""Who runs a file, of which format."""


def outcome(example: Example, way: str, folder: Path) -> Outcome:
    """What becomes of an example that is exported and run by somebody."""
    suffix, run = WAYS[way]
    path = folder / f"example{suffix}"
    try:
        model = build(example)
        nnapi.export(model, path)
    except NnapiError as error:
        return Outcome("refused", _first_reason(error.message))
    inputs = [example.inputs[index] for index in example.main.inputs]
    if any(array is None for array in inputs):
        return Outcome("refused", "an input is omitted")
    try:
        found = run(path, [array for array in inputs if array is not None])
    except NnapiError as error:
        return Outcome("refused", f"read back: {error.message}")
    except Exception as error:
        return Outcome("wrong", f"{type(error).__name__}: {' '.join(str(error).split())}")
    expected = [example.outputs[index] for index in example.main.outputs]
    found = [a.reshape(b.shape) if a.size == b.size else a for a, b in zip(found, expected, strict=True)]
    difference = judge(example, found)
    return Outcome("passed") if difference is None else Outcome("wrong", str(difference))


def _first_reason(message: str) -> str:
    """Of the first operation that is refused, without its number."""
    text = message.partition(" cannot be written as ")[2].partition(": ")[2] or message
    return text.split("; ")[0].partition(": ")[2] or text
