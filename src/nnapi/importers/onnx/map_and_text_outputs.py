"""Outputs of types that NNAPI lacks: maps, which ZipMap makes from the rows of a tensor, and labels that are texts.

NNAPI's models have the tensors, and the numbers of the labels.
"""

from collections.abc import Sequence

from nnapi.formats.onnx import messages as onnx

CLASSIFIERS = ("LinearClassifier", "SVMClassifier", "TreeEnsembleClassifier")
Keys = Sequence[int] | Sequence[str]


def list_map_keys(graph: onnx.GraphProto) -> dict[str, Keys]:
    """Return the keys of the maps in each output that a ZipMap writes, by the output's name."""
    found: dict[str, Keys] = {}
    for node in graph.node:
        if node.op_type == "ZipMap":
            for attribute in node.attribute:
                if attribute.name == "classlabels_int64s":
                    found[node.output[0]] = list(attribute.ints)
                elif attribute.name == "classlabels_strings":
                    found[node.output[0]] = [each.decode(errors="replace") for each in attribute.strings]
    return {info.name: found[info.name] for info in graph.output if info.name in found}


def list_texts(graph: onnx.GraphProto) -> dict[str, list[str]]:
    """Return the texts whose numbers a classifier writes to an output, by the output's name."""
    writers = {node.output[0]: node for node in graph.node if node.output}
    found = {}
    for info in graph.output:
        writer = writers.get(info.name)
        while writer is not None and writer.op_type == "Identity":
            writer = writers.get(writer.input[0])
        for attribute in writer.attribute if writer is not None and writer.op_type in CLASSIFIERS else ():
            if attribute.name == "classlabels_strings" and attribute.strings:
                found[info.name] = [each.decode(errors="replace") for each in attribute.strings]
    return found
