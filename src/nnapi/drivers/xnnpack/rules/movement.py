"""Operations that move elements without computing: shapes, slices, joins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.site import SHIFT, UNSIGNED, Site, need
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from nnapi.model.operand import Array
from nnapi.ops.pad import MODES
from nnapi.ops.shapes import axis_of


@lower(Op.RESHAPE)
def reshape(site: Site, input: Tensor, shape: Array) -> Tensor:
    return _as_result(site, input)


@lower(Op.SQUEEZE)
def squeeze(site: Site, input: Tensor, dims: Array | None) -> Tensor:
    return _as_result(site, input)


@lower(Op.EXPAND_DIMS)
def expand_dims(site: Site, input: Tensor, axis: int) -> Tensor:
    return _as_result(site, input)


def _as_result(site: Site, input: Tensor) -> Tensor:
    out = site.result()
    return site.emit("RESHAPE", [input, constant(out.shape)], out)


@lower(Op.TRANSPOSE)
def transpose(site: Site, input: Tensor, perm: Array | None) -> Tensor:
    order = range(len(input.shape))[::-1] if perm is None else perm
    return site.emit("TRANSPOSE", [input, constant(list(order))], site.result())


@lower(Op.CONCATENATION)
def concatenation(site: Site, inputs: Sequence[Tensor], axis: int) -> Tensor:
    out = site.result()
    return site.emit("CONCATENATION", [site.requantised(x, out) for x in inputs], out, axis=axis)


@lower(Op.SPLIT)
def split(site: Site, input: Tensor, axis: int, num_splits: int) -> Sequence[Tensor]:
    results = [site.result(position) for position in range(num_splits)]
    along = constant(axis_of(axis, len(input.shape)))
    site.operators.append(Operator("SPLIT", [along, input], results, {"num_splits": num_splits}))
    return results


@lower(Op.PAD)
def pad(site: Site, input: Tensor, paddings: Array) -> Tensor:
    return site.emit("PAD", [input, constant(paddings)], site.result())


@lower(Op.PAD_V2)
def pad_v2(site: Site, input: Tensor, paddings: Array, pad_value: float) -> Tensor:
    if input.type == "i8":
        shifted = int(pad_value) - (SHIFT if site.type("input").code in UNSIGNED else 0)
        need(-128 <= shifted <= 127, f"pad_value is {pad_value}, which is no code")
        value = input.like(shape=(1,), data=np.array([shifted], np.int8))
    else:
        value = site.filled(input, pad_value)
    return site.emit("PADV2", [input, constant(paddings), value], site.result())


@lower(Op.MIRROR_PAD)
def mirror_pad(site: Site, input: Tensor, paddings: Array, mode: int) -> Tensor:
    """Slices gathered along one axis after the other: the engine's own kernel, which finds the place of every element,
    takes many times as long."""
    x = input
    for axis, around in enumerate(paddings.tolist()):
        if any(around):
            places = np.pad(np.arange(x.shape[axis]), around, mode=MODES[mode])
            out = x.like(shape=(*x.shape[:axis], places.size, *x.shape[axis + 1 :]))
            x = site.emit("GATHER", [x, constant(places)], out, axis=axis)
    return _as_result(site, input) if x is input else x


@lower(Op.SLICE)
def slice_(site: Site, input: Tensor, begin: Array, size: Array) -> Tensor:
    out = site.result()
    return site.emit("SLICE", [input, constant(begin), constant(out.shape)], out)


@lower(Op.STRIDED_SLICE)
def strided_slice(
    site: Site,
    input: Tensor,
    begin: Array,
    end: Array,
    strides: Array,
    begin_mask: int,
    end_mask: int,
    shrink_axis_mask: int,
) -> Tensor:
    out = site.result()
    kept = iter(out.shape)
    shape = tuple(1 if shrink_axis_mask >> axis & 1 else next(kept) for axis in range(len(input.shape)))
    taken = out if shape == out.shape else out.like(shape=shape)
    site.emit(
        "STRIDED_SLICE", [input, constant(begin), constant(end), constant(strides)], taken,
        begin_mask=begin_mask, end_mask=end_mask, shrink_axis_mask=0,
    )  # fmt: skip
    return taken if taken is out else site.emit("RESHAPE", [taken, constant(out.shape)], out)


@lower(Op.GATHER)
def gather(site: Site, input: Tensor, axis: int, indices: Tensor) -> Tensor:
    return site.emit("GATHER", [input, indices], site.result(), axis=axis_of(axis, len(input.shape)))


@lower(Op.TILE)
def tile(site: Site, input: Tensor, multiples: Array) -> Tensor:
    return site.emit("TILE", [input, constant(multiples)], site.result())


@lower(Op.PACK)
def pack(site: Site, inputs: Sequence[Tensor], axis: int) -> Tensor:
    out = site.result()
    given = [site.requantised(x, out) for x in inputs]
    return site.emit("PACK", given, out, count=len(given), axis=axis_of(axis, len(out.shape)))
