"""Write names of tensors, inputs and outputs, and dynamic dimensions."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from nnapi.formats.tflite import schema
from nnapi.formats.tflite.graph import Graph, Tensor
from nnapi.formats.tflite.layout import REFERENCE, layout_of
from nnapi.formats.tflite.tables import QUANTIZATION, RECORD, TENSOR
from nnapi.formats.tflite.writer import LONG, Writer
from nnapi.model.graph import Names, Signature

NAMED = {
    (is_quantized, is_dynamic): layout_of(
        schema.Tensor,
        **TENSOR,
        name=REFERENCE,
        **({"quantization": REFERENCE} if is_quantized else {}),
        **({"shape_signature": REFERENCE} if is_dynamic else {}),
    )
    for is_quantized in (False, True)
    for is_dynamic in (False, True)
}
SIGNATURE = layout_of(
    schema.SignatureDef, inputs=REFERENCE, outputs=REFERENCE, signature_key=REFERENCE, subgraph_index="I"
)
TENSOR_NAME = layout_of(schema.TensorMap, name=REFERENCE, tensor_index="I")


def write_named_tensors(writer: Writer, tensors: Sequence[Tensor]) -> list[int]:
    """Append a graph's tensors, with names and dynamic shapes; return their offsets."""
    offsets = []
    for tensor in tensors:
        writer.buffers += tensor.is_constant
        layout = NAMED[tensor.is_quantized, tensor.signature is not None]
        described = {"type": schema.ELEMENTS[tensor.type], "is_variable": tensor.is_variable}
        offset = writer.table(layout, buffer=writer.buffers if tensor.is_constant else 0, **described)
        offsets.append(offset)
        writer.vector(offset + layout.at["shape"], tensor.shape)
        writer.text(offset + layout.at["name"], tensor.name)
        if tensor.signature is not None:
            writer.vector(offset + layout.at["shape_signature"], tensor.signature)
        if tensor.is_quantized:
            _quantization(writer, offset + layout.at["quantization"], tensor)
    return offsets


def _quantization(writer: Writer, field: int, tensor: Tensor) -> None:
    scales = np.asarray(tensor.scale, "<f4").reshape(-1)
    writer.align(4)
    vtable = writer.vtable(QUANTIZATION)
    assert vtable < len(writer.out)
    writer.child(field)
    table = writer.table(QUANTIZATION, quantized_dimension=tensor.axis)
    writer.raw(table + QUANTIZATION.at["scale"], scales.tobytes(), scales.size)
    writer.out += bytes(-(len(writer.out) + 4) % RECORD)
    writer.raw(table + QUANTIZATION.at["zero_point"], LONG(tensor.zero_point) * scales.size, scales.size)


def write_signature(writer: Writer, graph: Graph, signature: Signature) -> int:
    """Append the signature of the file's first graph; return its offset."""
    index = {tensor: i for i, tensor in enumerate(graph.tensors())}

    def write_names(names: Names, tensors: Sequence[Tensor]) -> list[int]:
        offsets = []
        for name, position in names:
            offsets.append(writer.table(TENSOR_NAME, tensor_index=index[tensors[position]]))
            writer.text(offsets[-1] + TENSOR_NAME.at["name"], name)
        return offsets

    table = writer.table(SIGNATURE)
    sides = {"inputs": (signature.inputs, graph.inputs), "outputs": (signature.outputs, graph.outputs)}
    for field, (names, tensors) in sides.items():
        writer.children(table + SIGNATURE.at[field], len(names), partial(write_names, names, tensors))
    writer.text(table + SIGNATURE.at["signature_key"], signature.key)
    return table
