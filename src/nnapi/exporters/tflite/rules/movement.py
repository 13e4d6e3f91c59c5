"""Sizes, and numbers in equal steps."""

import numpy as np

from nnapi.exporters.tflite.context import ExportContext, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.schema import ELEMENTS
from nnapi.operation_codes import CompositeCode as Composite


@lower(Composite.SHAPE)
def shape(context: ExportContext, input: Tensor) -> Tensor:
    out = context.result()
    return context.emit("SHAPE", [input], out, type=ELEMENTS[out.type])


@lower(Composite.RANGE)
def number_range(context: ExportContext, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    """Emit RANGE of scalars. LiteRT's fails if there are no numbers because the limit lies behind the start."""
    if delta.data is not None:
        limit = context.emit("MAXIMUM" if delta.data.item() > 0 else "MINIMUM", [limit, start], limit.like())
    scalar = constant(np.zeros(0, np.int32))
    parts = [context.emit("RESHAPE", [each, scalar], each.like(shape=())) for each in (start, limit, delta)]
    return context.emit("RANGE", parts)
