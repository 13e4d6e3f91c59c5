"""Convolutions of volumes. LiteRT's operators are slower than those of images, but other readers know them."""

from typing import Any

import numpy as np

from nnapi.exporters.tflite.context import ExportContext, lower
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.schema import VALID
from nnapi.lowering.refusal import require
from nnapi.model.operand import Array
from nnapi.operation_codes import CompositeCode as Composite


@lower(Composite.CONV_3D)
def conv_3d(
    context: ExportContext, input: Tensor, paddings: Array, strides: Array, dilations: Array, groups: int, **_: Any
) -> Tensor:
    """Emit CONV_3D on a padded volume; the output channels are the last axis of a filter."""
    require(groups == 1, "LiteRT's CONV_3D has no groups")
    filter, bias = context.stored_tensor("filter"), context.stored_tensor("bias")
    padded = context.pad(input, [(0, 0), *paddings.tolist(), (0, 0)])
    inputs = [padded, context.transpose(filter, (1, 2, 3, 4, 0)), bias]
    return context.emit("CONV_3D", inputs, activation=context.activation, **_list_options(strides, dilations))


@lower(Composite.TRANSPOSE_CONV_3D)
def transpose_conv_3d(context: ExportContext, input: Tensor, paddings: Array, strides: Array, **_: Any) -> Tensor:
    """Emit CONV_3D_TRANSPOSE of the whole result, and cut off its border. Negative paddings append cells that only the
    bias fills."""
    out, filter, bias = context.result(), context.stored_tensor("filter"), context.stored_tensor("bias")
    cut = paddings.clip(0)
    cells = [size + sum(pair) for size, pair in zip(out.shape[1:4], cut.tolist(), strict=True)]
    whole = out.like(shape=(out.shape[0], *cells, out.shape[4]))
    inputs = [constant(whole.shape), context.transpose(filter, (1, 2, 3, 0, 4)), input, bias]
    options = _list_options(strides, np.ones(3, int))
    made = context.emit("CONV_3D_TRANSPOSE", inputs, whole, activation=context.activation, **options)
    return context.cut(made, (0, *cut[:, 0].tolist(), 0), out.shape) if cut.any() else made


def _list_options(strides: Array, dilations: Array) -> dict[str, Any]:
    numbers = {"stride": strides.tolist(), "dilation": dilations.tolist()}
    options = {f"{name}_{axis}": each[i] for name, each in numbers.items() for i, axis in enumerate("dhw")}
    return {"padding": VALID, **options}
