"""The precision in which an engine computes float32 models, if a model permits less than float32."""

from collections.abc import Mapping
from typing import NamedTuple

from nnapi.codes import OperandCode
from nnapi.host.instruction_sets import find_instruction_sets
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.model.precision import Precision

ARITHMETIC: Mapping[Precision, frozenset[str]] = {
    Precision.FLOAT16: frozenset({"avx512_fp16", "asimdhp"}),
    Precision.BFLOAT16: frozenset({"avx512_bf16", "amx_bf16", "bf16"}),
}
"""Instruction sets of x86 and ARM, of which one is enough to compute in a precision."""


class Offer(NamedTuple):
    """Precision of the default variant, precision of another variant, and why the default is not the permitted one."""

    usual: Precision
    other: Precision | None = None
    reason: str = ""

    @property
    def variants(self) -> list[str]:
        return [] if self.other is None else [_name(self.other)]

    def choose(self, variant: str) -> Precision:
        return self.other if self.other is not None and variant == _name(self.other) else self.usual

    def describe(self, variant: str) -> str:
        chosen = self.choose(variant)
        reason = f": {self.reason}" if self.reason and chosen is self.usual else ""
        return f"computes float32 in {chosen}{reason}"


def refuse_precision(reason: str) -> Offer:
    return Offer(Precision.FLOAT32, None, reason)


def offer_permitted(model: Model) -> Offer:
    """Offer the permitted precision, and float32 as the other variant. If the model or the processor excludes it, offer
    float32, with the reason."""
    wanted = model.precision
    if wanted is Precision.FLOAT32:
        return Offer(wanted)
    operands = [operand.type for each in list_nested(model) for operand in each.operands]
    if any(type.scale or type.channel for type in operands):
        return refuse_precision("the model is quantized")
    if not any(type.code == OperandCode.TENSOR_FLOAT32 for type in operands):
        return refuse_precision("the model has no float32 tensors")
    if find_instruction_sets().isdisjoint(ARITHMETIC[wanted]):
        return refuse_precision(f"the processor has no {wanted} arithmetic")
    return Offer(wanted, Precision.FLOAT32)


def _name(precision: Precision) -> str:
    return f"in {precision}"
