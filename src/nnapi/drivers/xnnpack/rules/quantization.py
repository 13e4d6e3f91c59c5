"""Between numbers and codes, and between types."""

from __future__ import annotations

from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.graph import Tensor, constant
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.schema import TYPES
from nnapi.drivers.xnnpack.site import Site, need


@lower(Op.QUANTIZE)
def quantize(site: Site, input: Tensor) -> Tensor:
    return site.emit("QUANTIZE", [input], site.result())


@lower(Op.DEQUANTIZE)
def dequantize(site: Site, input: Tensor) -> Tensor:
    need(isinstance(input.scale, float), "the engine has no numbers for codes with a scale per channel")
    return site.emit("DEQUANTIZE", [input], site.result())


@lower(Op.CAST)
def cast(site: Site, input: Tensor) -> Tensor:
    out = site.result()
    need(not (input.is_quantized or out.is_quantized), "codes are cast as plain numbers, which the engine has none of")
    if input.type == out.type:
        return site.emit("RESHAPE", [input, constant(out.shape)], out)
    return site.emit("CAST", [input], out, source=TYPES[input.type], target=TYPES[out.type])
