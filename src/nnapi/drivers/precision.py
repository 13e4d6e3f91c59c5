"""The precision that an engine uses for float32, and the one of another variant, where a model permits less."""

from collections.abc import Mapping
from typing import NamedTuple

from nnapi.codes import OperandCode
from nnapi.drivers.instruction_sets import find_instruction_sets
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.model.precision import Precision

ARITHMETIC: Mapping[Precision, frozenset[str]] = {
    Precision.FLOAT16: frozenset({"avx512_fp16", "asimdhp"}),
    Precision.BFLOAT16: frozenset({"avx512_bf16", "amx_bf16", "bf16"}),
}
"""The instruction sets of x86 and ARM, one of which computes in a precision."""


class Offer(NamedTuple):
    """The usual precision of an engine for a model, that of another variant, and why the usual is not the permitted."""

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
    """Return the permitted precision, with float32 as the other variant; float32 and the reason where the model or the
    processor excludes it."""
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
