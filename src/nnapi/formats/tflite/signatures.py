"""Signatures: names of the inputs and outputs of a graph, besides the names of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nnapi.formats.tflite import schema
from nnapi.formats.tflite.graph import Graph, Tensor
from nnapi.formats.tflite.writer import REFERENCE, Writer, layout_of
from nnapi.model.parts import Names, Signature

SIGNATURE = layout_of(
    schema.SignatureDef, inputs=REFERENCE, outputs=REFERENCE, signature_key=REFERENCE, subgraph_index="I"
)
END = layout_of(schema.TensorMap, name=REFERENCE, tensor_index="I")


def write_signature(writer: Writer, graph: Graph, signature: Signature) -> int:
    """Append the signature of a file's first graph; return its offset."""
    index = {tensor: place for place, tensor in enumerate(graph.tensors())}

    def name_ends(names: Names, ends: Sequence[Tensor]) -> list[int]:
        places = []
        for name, position in names:
            places.append(writer.table(END, tensor_index=index[ends[position]]))
            writer.text(places[-1] + END.at["name"], name)
        return places

    table = writer.table(SIGNATURE)
    sides = {"inputs": (signature.inputs, graph.inputs), "outputs": (signature.outputs, graph.outputs)}
    for field, (names, ends) in sides.items():
        writer.children(table + SIGNATURE.at[field], len(names), partial(name_ends, names, ends))
    writer.text(table + SIGNATURE.at["signature_key"], signature.key)
    return table
