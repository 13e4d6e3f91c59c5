"""Exactness of OpenVINO's sums of products of bytes, by processor.

VNNI adds four products in 32 bits. On x86 without VNNI, OpenVINO adds two in 16 bits, which saturate at 2 · 255 · 127.
A result can then be off by the whole range, so the driver makes OpenVINO compute in float32, which is slower.
"""

from nnapi.host.instruction_sets import find_instruction_sets

VNNI = frozenset({"avx512_vnni", "avx_vnni"})
EXACT = VNNI | {"asimd"}
IN_FLOAT = ", codes as float32"
"""Suffix of the engine's version if it computes in float32, so that measurements and caches are separate."""


def are_byte_sums_exact() -> bool:
    return not find_instruction_sets().isdisjoint(EXACT)
