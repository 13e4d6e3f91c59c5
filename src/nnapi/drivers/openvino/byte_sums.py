"""Whether the engine sums products of bytes exactly on a processor.

VNNI adds four of them in 32 bits. On x86 without it the engine adds two in 16 bits, which saturate: 255 · 127 twice is
too much for them, and a result can be off by all its codes. There it is to compute with numbers, which is slower.
"""

from __future__ import annotations

from nnapi.drivers.instruction_sets import find_instruction_sets

VNNI = frozenset({"avx512_vnni", "avx_vnni"})
EXACT = VNNI | {"asimd"}
IN_FLOAT = ", codes as float32"
"""What versions of the engine say where it is not given codes: what is measured or kept of one is not of the other."""


def are_exact() -> bool:
    """On this processor."""
    return not find_instruction_sets().isdisjoint(EXACT)
