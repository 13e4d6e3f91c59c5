"""Names of the variants that compute convolutions with fewer multiplications (Winograd's minimal filtering)."""

from enum import StrEnum
from functools import cache

from nnapi.host.instruction_sets import find_instruction_sets

PLAIN = "Winograd convolutions"
"""The variant with F(2,3), F(4,3) along one dimension, and F(4,3) along the height with F(2,3) along the width, where
that is predicted to be faster."""
IN_BOTH = f"{PLAIN}, F(4,3) in both dimensions"
"""The variant that may also use F(4,3) in both dimensions, which has larger errors."""
FORCED, FORCED_IN_BOTH = (f"{name}, wherever possible" for name in (PLAIN, IN_BOTH))
"""The variants that use the fastest of these for each layer, even if direct convolution is predicted to be faster."""


def is_winograd(variant: str) -> bool:
    return variant.startswith(PLAIN)


def may_use_both(variant: str) -> bool:
    return variant.startswith(IN_BOTH)


def is_forced(variant: str) -> bool:
    return variant in (FORCED, FORCED_IN_BOTH)


class FloatWidth(StrEnum):
    """Processors, by the width of their float32 vectors."""

    AVX512 = "avx512"
    AVX2 = "avx2"
    NEON = "neon"
    OTHER = "other"


@cache
def find_float_width() -> FloatWidth:
    sets = find_instruction_sets()
    if "avx512f" in sets:
        return FloatWidth.AVX512
    if {"avx2", "fma"} <= sets:
        return FloatWidth.AVX2
    return FloatWidth.NEON if "asimd" in sets else FloatWidth.OTHER


BYTE_PRODUCTS = frozenset({"amx_int8", "avx512_vnni", "avx_vnni", "asimddp", "i8mm"})
"""Instruction sets that multiply and add bytes faster than floats."""


def has_byte_products() -> bool:
    """Return whether the processor has such an instruction set: 8-bit convolutions are then direct."""
    return not BYTE_PRODUCTS.isdisjoint(find_instruction_sets())


def describe_costs() -> str:
    """Return the facts about the processor that the choice of layers depends on."""
    return f"{find_float_width()}{', byte products' if has_byte_products() else ''}"
