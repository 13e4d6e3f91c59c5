"""Results of rules as tensors of the file, and rules that apply other operators' rules."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from nnapi.codes import OperandCode
from nnapi.formats.onnx.messages import make_node
from nnapi.importers.graph import Value
from nnapi.importers.onnx.file_graph import FileNode
from nnapi.importers.onnx.folding import compute_constants
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import RULES, Result
from nnapi.importers.onnx.tensors import BYTES, CODES, ELEMS, FLOAT, FLOAT16, INT64, OnnxTensor, constant
from nnapi.importers.refusals import Refused
from nnapi.model.operand import Array, OperandType

Operand: TypeAlias = "OnnxTensor | float | Sequence[int] | Array | None"
"""An input of a composed operator; numbers are constants, integers are int64."""


def as_tensor(node: OnnxNode, name: str, result: Result | None) -> OnnxTensor:
    """Return a rule's result as the tensor ``name``, reshaped to the file's dimensions if NNAPI allows the rank."""
    if result is None:
        raise Refused(f"its output {name} is not computed")
    if isinstance(result, Value):
        result = OnnxTensor(name, 0, result.shape or None, value=result)
    value, shape = result.value, result.shape
    if value is not None:
        if not result.elem:
            result.elem = _find_elem(node, value)
        if shape is not None and not result.is_nhwc and len(shape) <= HIGHEST_RANK:
            result.value = value = node.view(value, shape)
        if value in node.graph.written and ":" in value.name:
            value.name = name
    return result


def name_results(node: OnnxNode, results: Sequence[Result | None]) -> Iterator[tuple[str, OnnxTensor]]:
    """Yield the results of a node that the file names, as tensors."""
    for name, result in zip(node.source.outputs, results, strict=False):
        if name:
            yield name, as_tensor(node, name, result)


def _find_elem(node: OnnxNode, value: Value) -> int:
    """Return the ONNX type of a result: that of an input of the same operand type, else the operand type's default."""
    is_plain = (value.type.scale, value.type.zero_point) == (1.0, 0)
    if value.is_quantized and not is_plain:
        return _find_quantized_elem(node, value)
    for tensor in node.tensors:
        if tensor is not None and CODES.get(tensor.elem) == value.type.code:
            return tensor.elem
    return INT64 if value.type.code == CODES[INT64] else ELEMS[OperandCode(value.type.code)]


def _find_quantized_elem(node: OnnxNode, value: Value) -> int:
    """Return the byte type of an input if the operator's result has its type, else float."""
    keeps = () if node.schema is None else node.schema.keeps
    for i, tensor in enumerate(node.tensors if keeps else ()):
        same = keeps[min(i, len(keeps) - 1)]
        if tensor is not None and same and tensor.elem in BYTES and CODES[tensor.elem] == value.type.code:
            return tensor.elem
    return FLOAT


def call_rule(node: OnnxNode, key: str) -> list[Result | None]:
    found = RULES[key](node)
    return [found] if isinstance(found, Value | OnnxTensor) else list(found)


def apply_rules(
    node: OnnxNode, kind: str, tensors: Sequence[OnnxTensor | None], wanted: OperandType | None = None
) -> list[OnnxTensor | None]:
    """Apply the rule of another operator; ``wanted`` is the quantized type of its result."""
    other = OnnxNode(node.conversion, node.source, tensors, node.conversion.schema(kind), kind, wanted)
    found = zip(node.source.outputs, call_rule(other, kind), strict=False)
    return [None if each is None else as_tensor(other, name, each) for name, each in found]


def apply_rule(
    node: OnnxNode, kind: str, tensors: Sequence[OnnxTensor | None], wanted: OperandType | None = None
) -> OnnxTensor:
    """Apply the rule of another operator; return its first result."""
    found = apply_rules(node, kind, tensors, wanted)[0]
    assert found is not None
    return found


def compose(node: OnnxNode, kind: str, *operands: Operand, **attributes: Any) -> OnnxTensor:
    """Apply an operator of ONNX's default domain and return its first result; fold constants. Python numbers become
    constants of the first tensor's type."""
    scope, name = node.conversion, f"{node.name}:{kind}{next(node.conversion.state.numbers)}"
    leader = next((each for each in operands if isinstance(each, OnnxTensor)), None)
    tensors = [
        each if each is None or isinstance(each, OnnxTensor) else _constant(f"{name}:{i}", each, leader)
        for i, each in enumerate(operands)
    ]
    proto = make_node(kind, [tensor.name if tensor else "" for tensor in tensors], [name], **attributes)
    known = compute_constants(scope.state.file, proto, scope.opsets[""], tensors)
    if known is not None and known[0] is not None:
        return known[0]
    inner = OnnxNode(scope, FileNode(proto), tensors, scope.schema(kind))
    return as_tensor(inner, name, call_rule(inner, kind)[0])


def _constant(name: str, value: float | Sequence[int] | Array, like: OnnxTensor | None) -> OnnxTensor:
    if isinstance(value, float):
        array = np.array(value, np.float16 if like is not None and like.elem == FLOAT16 else np.float32)
    else:
        array = value if isinstance(value, np.ndarray) else np.array(value, np.int64)
    return constant(name, array)
