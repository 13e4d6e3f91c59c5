"""The precision in which OpenVINO is asked to compute float32."""

from nnapi.contract.precision import Offer, offer_permitted
from nnapi.host.instruction_sets import find_instruction_sets
from nnapi.model.model import Model
from nnapi.model.precision import Precision

HINTS = {Precision.FLOAT32: "f32", Precision.FLOAT16: "f16", Precision.BFLOAT16: "bf16"}
SLOW = "float16 is mostly slower here, as the processor has no amx_fp16; trials compare both"


def offer_precision(device: str, model: Model) -> Offer:
    """Return the precisions for a model on a kind of device; devices other than the CPU offer only one."""
    if device != "CPU":
        return Offer(Precision.FLOAT16 if model.precision is Precision.FLOAT16 else Precision.FLOAT32)
    found = offer_permitted(model)
    if found.usual is Precision.FLOAT16 and "amx_fp16" not in find_instruction_sets():
        return Offer(Precision.FLOAT32, Precision.FLOAT16, SLOW)
    return found
