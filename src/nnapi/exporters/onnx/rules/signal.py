"""The discrete Fourier transform."""

from nnapi.exporters.onnx.context import OnnxContext, lower
from nnapi.exporters.onnx.graph import Value, constant
from nnapi.lowering.refusal import require
from nnapi.operation_codes import CompositeCode as Composite


@lower(Composite.DFT)
def dft(context: OnnxContext, input: Value, axis: int, length: int, inverse: bool, onesided: bool) -> Value:
    is_half = onesided and (inverse or input.shape[-1] == 2)
    require(not is_half, "ONNX has half of the frequencies only for transforms of real signals")
    ends = [constant(length or input.shape[axis]), constant(axis)]
    return context.move("DFT", [input, *ends], inverse=int(inverse), onesided=int(onesided))
