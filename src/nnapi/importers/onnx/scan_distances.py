"""Scans that compute the distances between the rows of two matrices, as skl2onnx writes the cdist of SciPy.

One step takes the distances of all rows to one row. All steps together are one subtraction, broadcast to three axes.
"""

from collections.abc import Sequence

import numpy as np

from nnapi.importers.onnx.file_graph import FileGraph, FileNode
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.reader import to_array
from nnapi.importers.onnx.rule_results import Operand, compose
from nnapi.importers.onnx.tensors import OnnxTensor
from nnapi.model.operand import Array
from nnapi.rewriting.dataflow import find_makers

ELEMENTWISE = ("Abs", "Pow", "Sqrt", "Mul", "Div", "Identity")
REDUCING = ("ReduceSumSquare", "ReduceSum", "ReduceMax", "ReduceL1", "ReduceL2")


def compute_distances(node: OnnxNode, body: FileGraph, states: Sequence[OnnxTensor], count: int) -> OnnxTensor | None:
    """Return the second output of a Scan whose one state never changes, and whose steps subtract a row from it, then
    compute elementwise and reduce the columns; None for other Scans."""
    options = ("scan_input_axes", "scan_output_axes", "scan_input_directions", "scan_output_directions")
    if (len(states), count, len(body.outputs)) != (1, 1, 2) or any(any(node.attribute(each) or ()) for each in options):
        return None
    scanned = node.tensor(node.count - 1)
    if states[0].rank != 2 or scanned.rank != 2:
        return None
    steps = _find_steps(body)
    if steps is None:
        return None
    rows, columns = (compose(node, "Unsqueeze", *each) for each in ((states[0], [0]), (scanned, [1])))
    found = compose(node, "Sub", *((rows, columns) if steps[0] else (columns, rows)))
    for kind, constants in steps[1]:
        if kind in REDUCING:
            found = compose(node, kind, found, [2], keepdims=0)
        elif kind != "Identity":
            found = compose(node, kind, found, *constants)
    return found


def _find_steps(body: FileGraph) -> tuple[bool, list[tuple[str, list[Operand]]]] | None:
    """Return whether the scanned row is subtracted from the state, and the operators behind the subtraction with their
    constants; None if the body is another."""
    constants = {each.name: to_array(each) for each in body.constants}
    writers = find_makers(body.nodes)
    state, row = body.inputs
    kept, wanted = body.outputs
    while kept in writers and writers[kept].kind == "Identity":
        kept = writers[kept].inputs[0]
    steps: list[tuple[str, list[Operand]]] = []
    while (maker := writers.get(wanted)) is not None and maker.kind != "Sub":
        first, *others = maker.inputs
        known = [constants.get(name) for name in others]
        if maker.kind not in (*ELEMENTWISE, *REDUCING) or any(each is None for each in known):
            return None
        if maker.kind in REDUCING and not _drops_columns(maker, known):
            return None
        steps.insert(0, (maker.kind, list(known)))
        wanted = first
    if maker is None or kept != state or set(maker.inputs) != {state, row}:
        return None
    if sum(kind in REDUCING for kind, _ in steps) != 1:
        return None
    return maker.inputs[0] == state, steps


def _drops_columns(node: FileNode, given: Sequence[Array | None]) -> bool:
    attributes = {each.name: each for each in node.proto.attribute}
    axes = given[0] if given else np.array(attributes["axes"].ints if "axes" in attributes else ())
    keeps = attributes["keepdims"].i if "keepdims" in attributes else 1
    return axes is not None and axes.tolist() in ([1], [-1]) and not keeps
