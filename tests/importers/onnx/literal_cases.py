"""Files of several inputs and outputs, for tests that write the expected numbers down."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.graph import MADE_UP_PER_BYTE  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402


def node(kind: str, inputs: str, outputs: str = "y", domain: str = "", **attributes: Any) -> Any:
    """A node; spaces divide the names of its inputs, and a dash leaves one out."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(kind, names, outputs.split(), domain=domain, **attributes)


def subgraph(nodes: list[Any], inputs: str, outputs: str) -> Any:
    """A body of a loop, or a branch, whose inputs and outputs have no types."""
    given, found = ([onnx.ValueInfoProto(name=name) for name in names.split()] for names in (inputs, outputs))
    return helper.make_graph(nodes, "body", given, found)


def file_of(
    nodes: list[Any],
    inputs: dict[str, Any],
    constants: dict[str, Any] | None = None,
    outputs: str = "y",
    opset: int = 17,
) -> bytes:
    """A file of several inputs, of the types and shapes of arrays, and of outputs without types."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in (constants or {}).items()]
    given = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.asarray(x).dtype), np.shape(x))
        for name, x in inputs.items()
    ]
    found = [onnx.ValueInfoProto(name=name) for name in outputs.split()]
    graph = helper.make_graph(nodes, "g", given, found, tensors)
    domains = {each.domain for each in nodes} - {""}
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(each, 1) for each in sorted(domains))]
    content: bytes = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return content


def results(
    nodes: list[Any],
    inputs: dict[str, Any],
    constants: dict[str, Any] | None = None,
    outputs: str = "y",
    opset: int = 17,
) -> list[Any]:
    """The outputs of a file as lists of numbers, for its inputs."""
    model = nnapi.load(file_of(nodes, inputs, constants, outputs, opset))
    types = [model.operands[index].type for index in model.inputs]
    given = [
        np.asarray(x).astype(type.dtype).reshape(np.shape(x) or (1,))
        for x, type in zip(inputs.values(), types, strict=True)
    ]
    return [np.asarray(each).tolist() for each in nnapi.compile(model, "nnapi-reference").run(*given)]


def reasons(
    nodes: list[Any],
    inputs: dict[str, Any],
    constants: dict[str, Any] | None = None,
    outputs: str = "y",
    opset: int = 17,
) -> list[str]:
    """The reasons why NNAPI cannot express a file."""
    with pytest.raises(UnsupportedOperationsError) as caught:
        nnapi.load(file_of(nodes, inputs, constants, outputs, opset))
    return [each.reason for each in caught.value.refusals]


def check_made_up(content: bytes, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file makes up ``count`` bytes of constants: it loads where so many are permitted, not where one less is."""
    permitted = count - MADE_UP_PER_BYTE * len(content)
    monkeypatch.setattr("nnapi.importers.onnx.scope.MADE_UP", permitted)
    nnapi.load(content)
    monkeypatch.setattr("nnapi.importers.onnx.scope.MADE_UP", permitted - 1)
    with pytest.raises(UnsupportedOperationsError, match="bytes of constants that are not in the file"):
        nnapi.load(content)
