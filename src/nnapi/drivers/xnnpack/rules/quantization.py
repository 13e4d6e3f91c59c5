"""Between numbers and codes, and between types."""

from __future__ import annotations

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.drivers.xnnpack.lowering import lower
from nnapi.drivers.xnnpack.rules.filters import along, times
from nnapi.drivers.xnnpack.site import SHIFT, Site, need
from nnapi.formats.tflite.graph import Tensor, constant
from nnapi.formats.tflite.writer_schema import TYPES


@lower(Op.QUANTIZE)
def quantize(site: Site, input: Tensor) -> Tensor:
    return site.emit("QUANTIZE", [input], site.result())


@lower(Op.DEQUANTIZE)
def dequantize(site: Site, input: Tensor) -> Tensor:
    if isinstance(input.scale, float):
        return site.emit("DEQUANTIZE", [input], site.result())
    need(input.data is None, "the engine has no numbers for stored codes with a scale per channel")
    return times(site, input, along(input.scale, input.axis, len(input.shape)))


@lower(Op.CAST)
def cast(site: Site, input: Tensor) -> Tensor:
    """To halves by way of halves, which are held as singles everywhere else: this operation is asked to round."""
    out = site.result()
    if (
        site.call.results[0].code == OperandCode.TENSOR_FLOAT16
        and site.type("input").code != OperandCode.TENSOR_FLOAT16
    ):
        return _rounded(site, _number(site, input, out.like()), out)
    return _number(site, input, out)


def _rounded(site: Site, single: Tensor, out: Tensor) -> Tensor:
    half = site.emit("CAST", [single], single.like(type="f16"), source=TYPES["f32"], target=TYPES["f16"])
    return site.emit("CAST", [half], out, source=TYPES["f16"], target=TYPES["f32"])


def _number(site: Site, input: Tensor, out: Tensor) -> Tensor:
    if input.same_codes(out):
        return site.emit("RESHAPE", [input, constant(out.shape)], out)
    need(out.type != "i8", "the engine does not cast numbers to codes")
    if input.type != "i8":
        return site.emit("CAST", [input], out, source=TYPES[input.type], target=TYPES[out.type])
    plain = site.emit("CAST", [input], out.like(), source=TYPES["i8"], target=TYPES[out.type])
    return site.emit("ADD", [plain, site.filled(plain, SHIFT)], out, activation=0)  # codes are unsigned in the model
