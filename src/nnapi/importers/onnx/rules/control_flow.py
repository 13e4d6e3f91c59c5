"""If, Loop and Scan: static branches and counts are inlined; others become NNAPI's IF and WHILE."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import INT32, Value
from nnapi.importers.onnx.branches import Branch, inline_graph, loop_condition
from nnapi.importers.onnx.emitter import value_in_file_order
from nnapi.importers.onnx.growing_states import extract_rows
from nnapi.importers.onnx.layout import view_around
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.rules.movement import concatenate_values, split_by_sizes
from nnapi.importers.onnx.scan_distances import compute_distances
from nnapi.importers.onnx.tensors import DYNAMIC, OnnxTensor, constant
from nnapi.importers.refusals import Refused, expressible, need_elements
from nnapi.model.operand import OperandType, Shape
from nnapi.operation_codes import CompositeCode

MOST_STEPS = 256
"""The largest number of inlined passes of a loop, and of unrolled time steps."""
ENDLESS = 2**31 - 1


@rule("If")
def if_(node: OnnxNode) -> Sequence[Result | None]:
    condition = node.tensor(0)
    branches = [node.subgraph("then_branch"), node.subgraph("else_branch")]
    if condition.array is not None:
        expressible(condition.array.size == 1, "its condition is not one element")
        return inline_graph(node.conversion, branches[0 if condition.array.all() else 1], [])
    inner = _convert_branches(node, branches)
    captured = list(dict.fromkeys(tensor for each in inner for tensor in each.captured)) or [condition]
    models = [each.model(captured, each.results) for each in inner]
    values = [value_in_file_order(node.conversion, tensor) for tensor in captured]
    first, second = inner
    results = [
        node.result(node.temporary(_common_type(a, b), f"result {i}"), _common_shape(x.dims, y.dims), elem=x.elem)
        for i, (a, b, x, y) in enumerate(zip(first.values, second.values, first.results, second.results, strict=True))
    ]
    inputs = [node.view(node.input(0), (1,)), *models, *values]
    node.graph.emit(OperationCode.IF, inputs, [each.materialize() for each in results])
    return results


def _common_type(first: Value, second: Value) -> OperandType:
    return first.type.with_dimensions(_common_shape(first.shape, second.shape))


def _common_shape(first: Shape, second: Shape) -> Shape:
    """Return the dimensions that two branches' results have in common, DYNAMIC for others."""
    expressible(len(first) == len(second), f"its branches give results of shapes {list(first)} and {list(second)}")
    return tuple(a if a == b else DYNAMIC for a, b in zip(first, second, strict=True))


def _convert_branches(node: OnnxNode, graphs: Sequence[Any]) -> list[Branch]:
    found: list[Branch] = []
    reasons: dict[str, None] = {}
    for graph in graphs:
        try:
            found.append(Branch(node.conversion, graph, []))
        except Refused as refused:
            reasons.update(dict.fromkeys(refused.reasons))
    if reasons:
        raise Refused(*reasons)
    return found


@rule("Loop")
def loop(node: OnnxNode) -> Sequence[Result | None]:
    """Inline a loop with a static number of steps; lower other loops to WHILE."""
    body = node.subgraph("body")
    limit = node.tensor(0) if node.has(0) else None
    going = node.tensor(1) if node.has(1) else None
    carried = [node.tensor(i) for i in range(2, node.count)]
    expressible(len(body.inputs) == len(carried) + 2, "its body takes other inputs")
    expressible(len(body.outputs) > len(carried), "its body gives other results")
    if limit and limit.array is not None and (going is None or going.array is not None):
        steps = int(limit.array.reshape(())) if going is None or going.constant.all() else 0
        results = _unroll(node, body, steps, carried) if steps <= MOST_STEPS else None
        if results is not None:
            return results
    grown = extract_rows(node, body, carried)
    if grown is None:
        return _while(node, body, limit, going, carried)
    found = _while(node, grown.body, limit, going, grown.carried)
    return [found[position] for position in grown.order]


def _unroll(node: OnnxNode, body: Any, steps: int, carried: list[OnnxTensor]) -> Sequence[Result | None] | None:
    """Return the results of the inlined steps; None if a computed condition ends the loop."""
    scanned: list[Sequence[OnnxTensor]] = []
    for step in range(max(steps, 0)):
        going = constant("going", np.array(True))
        inputs = [constant("step", np.array(step, np.int64)), going, *carried]
        results = inline_graph(node.conversion, body, inputs)
        if results[0].array is None:
            return None
        carried = list(results[1 : 1 + len(carried)])
        scanned.append(results[1 + len(carried) :])
        if not results[0].array.all():
            break
    return [*carried, *(_stack(node, each, 0) for each in _collect(scanned, len(body.outputs) - 1 - len(carried)))]


def _collect(steps: Sequence[Sequence[OnnxTensor]], count: int) -> list[list[OnnxTensor]]:
    """Regroup results by output: return, for each of ``count`` outputs, its results in all steps."""
    return [[results[i] for results in steps] for i in range(count)]


def _stack(node: OnnxNode, tensors: Sequence[OnnxTensor], axis: int) -> OnnxTensor:
    need_elements(tensors)
    if all(tensor.array is not None for tensor in tensors):
        return node.constant_result(np.stack([tensor.array for tensor in tensors if tensor.array is not None], axis))
    shape = tensors[0].dims
    whole = (*shape[:axis], len(tensors), *shape[axis:])
    values = [value_in_file_order(node.conversion, tensor) for tensor in tensors]
    laid = [view_around(node, value, (*shape[:axis], 1, *shape[axis:]), axis) for value in values]
    result = concatenate_values(node, laid, 1)
    return node.result(result, whole, elem=tensors[0].elem)


def _while(
    node: OnnxNode, body: Any, limit: OnnxTensor | None, going: OnnxTensor | None, carried: Sequence[OnnxTensor]
) -> list[OnnxTensor]:
    """Lower to WHILE. The state holds step, continuation flag, carried tensors, scan outputs, captured tensors and step
    limit."""
    step = constant("step", np.array(0, np.int64))
    on = going or constant("going", np.array(True))
    bound = limit or constant("limit", np.array(ENDLESS, np.int64))
    if bound.array is not None:
        bound = constant("limit", np.minimum(bound.array, ENDLESS))
    inner = Branch(node.conversion, body, [step, on, *carried])
    is_endless = bound.array is not None and int(bound.array.item()) == ENDLESS
    rows = inner.accumulate(len(body.outputs) - 1 - len(carried), None if is_endless else bound)
    may_end = (going is not None and going.array is None) or inner.results[0].value is not inner.own[1].value
    count, carried = len(carried), [*carried, *rows]
    kept = [*inner.captured, bound]
    states = [value_in_file_order(node.conversion, tensor) for tensor in (step, on, *carried, *kept)]
    body_model = inner.model(kept, inner.results, counts=True)
    # The body may determine the quantization of bytes.
    states = [
        node.restate(state, own.type.scale, own.type.zero_point)
        for state, own in zip(states, inner.values, strict=True)
    ]
    results = [node.temporary(value.type, f"result {i}") for i, value in enumerate(inner.values)]
    inputs = [loop_condition(node.conversion, states), body_model, *states]
    node.graph.emit(OperationCode.WHILE, inputs, results)
    found = [
        node.result(result, tensor.shape, elem=tensor.elem)
        for result, tensor in zip(results[2 : 2 + len(carried)], carried, strict=True)
    ]
    if may_end and not is_endless:
        found[count:] = [_cut(node, each, results[0]) for each in found[count:]]
    return found


def _cut(node: OnnxNode, rows: OnnxTensor, count: Value) -> OnnxTensor:
    """Return the first rows, whose number is computed."""
    shape, type = (DYNAMIC, *rows.dims[1:]), OperandType(INT32, (DYNAMIC,))
    bounds = node.graph.ints([0]), count, node.graph.ints([1])
    indices = node.apply(CompositeCode.RANGE, *bounds, type=type, shape=type.dimensions)
    value = node.apply(OperationCode.GATHER, rows.materialize(), node.i32(0), indices, shape=shape)
    return node.result(value, shape, elem=rows.elem)


@rule("Scan")
def scan(node: OnnxNode) -> Sequence[Result | None]:
    expressible(node.since >= 9, "opset 8 defines it differently")
    body, count = node.subgraph("body"), int(node.attribute("num_scan_inputs", 1))
    expressible(0 < count <= node.count, f"num_scan_inputs is {count}, must be 1 to {node.count}, its number of inputs")
    states = [node.tensor(i) for i in range(node.count - count)]
    distances = compute_distances(node, body, states, count)
    if distances is not None:
        return [*states, distances]
    axes = node.attribute("scan_input_axes") or [0] * count
    backwards = node.attribute("scan_input_directions") or [0] * count
    pieces = [
        _slices(node, len(states) + i, int(axis))[:: -1 if back else 1]
        for i, (axis, back) in enumerate(zip(axes, backwards, strict=True))
    ]
    expressible(len({len(each) for each in pieces}) == 1, "its inputs have different lengths")
    expressible(len(pieces[0]) <= MOST_STEPS, f"its {len(pieces[0])} steps are too many to unroll")
    scanned: list[Sequence[OnnxTensor]] = []
    for step in zip(*pieces, strict=True):
        results = inline_graph(node.conversion, body, [*states, *step])
        states, scanned = results[: len(states)], [*scanned, results[len(states) :]]
    count = len(body.outputs) - len(states)
    need_elements(scanned or not count)
    out_axes = node.attribute("scan_output_axes") or [0] * count
    reversed_ = node.attribute("scan_output_directions") or [0] * count
    outputs = [
        _stack(node, each[:: -1 if back else 1], node.axis(int(axis), each[0].rank + 1))
        for each, axis, back in zip(_collect(scanned, count), out_axes, reversed_, strict=True)
    ]
    return [*states, *outputs]


def _slices(node: OnnxNode, i: int, axis: int) -> list[OnnxTensor]:
    tensor, shape = node.tensor(i), node.static_shape(i)
    axis = node.axis(axis, len(shape))
    rest = (*shape[:axis], *shape[axis + 1 :])
    if tensor.array is not None:
        return [constant(f"{tensor.name}:{k}", np.take(tensor.array, k, axis)) for k in range(shape[axis])]
    laid = view_around(node, node.stored(i), shape, axis)
    found = []
    for piece in split_by_sizes(node, laid, 1, [1] * shape[axis]):
        value = piece if len(rest) > HIGHEST_RANK else node.view(piece, rest)
        found.append(OnnxTensor(piece.name, tensor.elem, rest, value=value))
    return found
