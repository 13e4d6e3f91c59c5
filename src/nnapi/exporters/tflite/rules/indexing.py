"""Positions of elements."""

from nnapi.exporters.tflite.context import ExportContext, lower
from nnapi.formats.tflite.graph import Tensor
from nnapi.operation_codes import CompositeCode as Composite


@lower(Composite.NONZERO)
def nonzero(context: ExportContext, input: Tensor) -> Tensor:
    """Emit WHERE, which gives a row of 64-bit integers for each element."""
    out = context.result()
    rows = out.like(shape=out.shape[::-1])
    found = context.emit("WHERE", [context.real(input)], rows.like(type="i64"))
    return context.transpose(context.cast(found, rows), (1, 0))
