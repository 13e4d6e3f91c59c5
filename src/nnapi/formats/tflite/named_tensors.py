"""Tensors as files for people have them: with names, and with what is open of their shapes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.formats.tflite import schema
from nnapi.formats.tflite.graph import Tensor
from nnapi.formats.tflite.writer import LONG, QUANTIZATION, RECORD, REFERENCE, TENSOR, Writer, layout_of

NAMED = {
    (is_quantized, is_open): layout_of(
        schema.Tensor,
        **TENSOR,
        name=REFERENCE,
        **({"quantization": REFERENCE} if is_quantized else {}),
        **({"shape_signature": REFERENCE} if is_open else {}),
    )
    for is_quantized in (False, True)
    for is_open in (False, True)
}
"""Layouts of tensors with names, by whether they are quantized and whether their shape is dynamic."""


def write_named_tensors(writer: Writer, tensors: Sequence[Tensor]) -> list[int]:
    """Append the tensors of a graph with names and dynamic shapes; return their offsets."""
    places = []
    for tensor in tensors:
        writer.buffers += tensor.is_constant
        layout = NAMED[tensor.is_quantized, tensor.signature is not None]
        described = {"type": schema.ELEMENTS[tensor.type], "is_variable": tensor.is_variable}
        place = writer.table(layout, buffer=writer.buffers if tensor.is_constant else 0, **described)
        places.append(place)
        writer.vector(place + layout.at["shape"], tensor.shape)
        writer.text(place + layout.at["name"], tensor.name)
        if tensor.signature is not None:
            writer.vector(place + layout.at["shape_signature"], tensor.signature)
        if tensor.is_quantized:
            _quantization(writer, place + layout.at["quantization"], tensor)
    return places


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
