"""What the engine takes on a processor in relation to XNNPACK, before it was ever started there.

What XNNPACK takes is measured; here stands only what follows from how both compute. Either is within a few percent of
what a core can do with dense float32 arithmetic. They differ where they use other instructions, or other numbers:

- the engine has no kernels for codes with a zero point in filters, as unsigned ones have: those are computed in
  float32, between conversions, which weigh most where little is computed with a number;
- signed codes are computed as such where the processor multiplies bytes. With AMX its tiles hold few channels well,
  where XNNPACK's leave most of a tile empty; with VNNI both use the same instruction; without, it is made to compute in
  float32 (:mod:`.byte_sums`). On ARM its kernels for signed codes take few of the forms that models have, and the rest
  becomes float32;
- images that it does not convolve are brought from its blocks of channels into the order of their dimensions and back;
- each operation is a node of a graph with primitives behind it, where XNNPACK's is a function, and each call a request.
"""

from __future__ import annotations

from nnapi.codes import OperandCode
from nnapi.drivers.instruction_sets import find_instruction_sets
from nnapi.drivers.openvino.byte_sums import VNNI
from nnapi.drivers.samples import Kinds, Relation, Relations
from nnapi.model.facts import Kind

FLOAT, SIGNED = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
UNSIGNED = OperandCode.TENSOR_QUANT8_ASYMM
CALL, OPERATION = 3.0, 8.0
"""A request beside a function call, from Python; and a node beside an operator."""
CONVERTED, CONVERTED_EACH = 1.2, 2.5
"""In float32 between conversions: sums of many products, and of those of single channels."""
REORDERED = 2.0
"""What is brought from one order of dimensions to another and back."""
TILES = 0.5
"""Signed convolutions with AMX."""
SUMS = (Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.PRODUCT)
ORDERED = (Kind.TRANSCENDENTAL, Kind.REDUCTION, Kind.RESIZE, Kind.MOVEMENT, Kind.RESHAPE)


def relate(device: str) -> Relations:
    """On this processor; of other devices than it nothing is known."""
    kinds = list_relations(find_instruction_sets()) if device == "CPU" else {}
    return Relations("xnnpack-cpu", CALL, OPERATION, kinds)


def list_relations(sets: frozenset[str]) -> Kinds:
    """For kinds of operations and the codes of their first inputs, on a processor with those instruction sets."""
    found = {(kind, code): Relation(REORDERED) for kind in ORDERED for code in (FLOAT, SIGNED)}
    found |= {(kind, UNSIGNED): Relation(REORDERED * CONVERTED, FLOAT) for kind in ORDERED}
    found |= {(Kind.ELEMENTWISE, code): Relation() for code in (FLOAT, SIGNED)}
    found[Kind.ELEMENTWISE, UNSIGNED] = Relation(CONVERTED, FLOAT)
    found |= {(kind, FLOAT): Relation() for kind in SUMS}
    in_float = {kind: Relation(CONVERTED_EACH if kind is Kind.DEPTHWISE else CONVERTED, FLOAT) for kind in SUMS}
    found |= {(kind, UNSIGNED): relation for kind, relation in in_float.items()}
    return found | {(kind, SIGNED): _relate_signed(kind, sets) or in_float[kind] for kind in SUMS}


def _relate_signed(kind: Kind, sets: frozenset[str]) -> Relation | None:
    """Of sums of signed products; None where they become float32. Tiles are of use where many are summed for many
    pixels."""
    if "amx_int8" in sets and kind is Kind.CONVOLUTION:
        return Relation(TILES)
    return Relation() if sets & VNNI else None
