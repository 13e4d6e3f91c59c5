"""Files of one input and one output, for tests of operators of ONNX."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402

X = np.random.default_rng(3).uniform(-2, 2, (2, 3, 4, 5)).astype(np.float32)


def made(nodes: list[Any], constants: dict[str, Any], x: Any, elem: int = 0, opset: int = 17) -> bytes:
    """A file of one input ``x`` and one output ``y``, of a type that may be left out."""
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    given = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
    found = helper.make_tensor_value_info("y", elem, None) if elem else onnx.ValueInfoProto(name="y")
    graph = helper.make_graph(nodes, "g", [given], [found], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    content: bytes = proto.SerializeToString()
    return content


def loaded(nodes: list[Any], constants: dict[str, Any] | None = None, opset: int = 17, x: Any = X) -> nnapi.Model:
    """A model of one input ``x`` and one output ``y``."""
    return nnapi.load(made(nodes, constants or {}, x, opset=opset))


def computed(model: nnapi.Model, x: Any = X) -> Any:
    return nnapi.compile(model, "nnapi-reference").run(x)[0]


QUANTIZE = "QUANTIZE_TO_EVEN"
"""The operations of a QuantizeLinear, which rounds halves to even."""
Step = tuple[str, tuple[Any, ...], dict[str, Any]]


def step(kind: str, *constants: Any, **attributes: Any) -> Step:
    """A node of a chain."""
    return kind, constants, attributes


def chain(x: Any, *steps: Step, opset: int = 17) -> bytes:
    """A file of nodes that each read the result of the one before, and then constants; None leaves an input out, "." is
    that result again."""
    nodes: list[Any] = []
    given: dict[str, Any] = {}
    name = "x"
    for i, (kind, constants, attributes) in enumerate(steps):
        names = [name]
        for k, array in enumerate(constants):
            names.append("" if array is None else name if isinstance(array, str) else f"c{i}.{k}")
            if names[-1] not in ("", name):
                given[names[-1]] = array
        name = "y" if i == len(steps) - 1 else f"t{i}"
        nodes.append(helper.make_node(kind, names, [name], **attributes))
    return made(nodes, given, x, opset=opset)


def single(kind: str, x: Any, *constants: Any, opset: int = 17, **attributes: Any) -> bytes:
    """A file of one node."""
    return chain(x, (kind, constants, attributes), opset=opset)


def reference(content: bytes, x: Any) -> Any:
    """The result of ONNX's own reference."""
    from onnx.reference import ReferenceEvaluator

    evaluator: Any = ReferenceEvaluator(onnx.load_from_string(content))
    return evaluator.run(None, {"x": x})[0]


def compare(content: bytes, x: Any, operations: str, rtol: float = 0.0, expected: Any = None) -> None:
    """A file gives these operations, and the shape and numbers of ONNX's own reference, or the expected ones."""
    model, expected = nnapi.load(content), np.asarray(reference(content, x) if expected is None else expected)
    names = " ".join(call.name for call in model.operations)
    assert names == operations, names
    found = computed(model, x.astype(np.int32) if x.dtype.kind in "iu" and x.dtype.itemsize > 1 else x)
    assert found.shape == (expected.shape or (1,))
    np.testing.assert_allclose(found, expected.reshape(found.shape), rtol)
