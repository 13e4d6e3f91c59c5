"""Timings of engines, measured by ``benchmarks/operator_costs.py``. They predict costs; trials choose the plan."""

import os
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import NamedTuple, Protocol, runtime_checkable

from nnapi.codes import OperandCode
from nnapi.host.instruction_sets import find_instruction_sets
from nnapi.model.facts import Kind


class Element(StrEnum):
    """Types of an operation's first input; types with similar costs share an element."""

    FLOAT32 = "float32"
    UNSIGNED = "quant8"
    SIGNED = "quant8 signed"
    OTHER = "other types"


ELEMENTS: dict[int, Element] = {
    OperandCode.FLOAT32: Element.FLOAT32,
    OperandCode.TENSOR_FLOAT32: Element.FLOAT32,
    OperandCode.TENSOR_QUANT8_ASYMM: Element.UNSIGNED,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: Element.SIGNED,
}

Class = tuple[Kind, Element]
"""Operations with the same cost."""


class Cost(NamedTuple):
    """Seconds per operation (or step), MAC, byte, result pixel and filter tap, on one thread."""

    operation: float
    mac: float = 0.0
    byte: float = 0.0
    pixel: float = 0.0
    tap: float = 0.0


class Timings(NamedTuple):
    """An engine's costs on one thread; ``launch`` is seconds to pass a tensor, ``byte`` seconds to copy a byte."""

    launch: float
    byte: float
    costs: Mapping[Class, Cost]


@runtime_checkable
class Timed(Protocol):
    """A driver that ships timings of its engine."""

    def timings(self) -> Timings | None:
        """Return the timings for this processor; None if there are none."""
        ...


class Processor(StrEnum):
    """Processors, by their best instructions for products of bytes. VNNI has AVX-512, AVX_VNNI has not."""

    AMX = "amx_int8"
    VNNI = "vnni"
    AVX_VNNI = "avx_vnni"
    AVX2 = "avx2"
    DOT_PRODUCT = "asimddp"
    OTHER = "other"


LEAST_MAC: Mapping[Processor, float] = {
    Processor.AMX: 2.4e-13,
    Processor.VNNI: 1.6e-12,
    Processor.AVX_VNNI: 1.6e-12,
    Processor.AVX2: 3e-12,
    Processor.DOT_PRODUCT: 3e-12,
}
"""Seconds per MAC of bytes at the peak of a core at 4 GHz. MACs per cycle: AMX 1024, VNNI 128 or 256, others 64."""
SUMS = (Kind.CONVOLUTION, Kind.DEPTHWISE, Kind.PRODUCT)
QUANTIZED = (Element.UNSIGNED, Element.SIGNED)

BYTE_MAC: Mapping[Processor, float] = {
    Processor.AMX: 0.0,
    Processor.VNNI: 2e-12,
    Processor.AVX_VNNI: 4e-12,
    Processor.AVX2: 5e-12,
    Processor.DOT_PRODUCT: 1.2e-11,
    Processor.OTHER: 2.5e-11,
}
"""Minimum seconds per MAC of bytes in dense kernels: measured with VNNI, else estimated; AMX has timings."""

Factors = Mapping[Class, float]

FLOAT: Mapping[Processor, float] = {
    Processor.AMX: 1.0,
    Processor.VNNI: 1.0,
    Processor.AVX_VNNI: 2.0,
    Processor.AVX2: 2.0,
    Processor.DOT_PRODUCT: 4.0,
    Processor.OTHER: 4.0,
}
"""Factors for sums of products in float32, of all engines and of NumPy. They follow from the width of vectors: those of
the processor that was measured have 512 bits. For OTHER they are upper bounds."""
OTHERS: Mapping[Processor, float] = {
    Processor.AMX: 1.0,
    Processor.VNNI: 1.0,
    Processor.AVX_VNNI: 1.5,
    Processor.AVX2: 1.5,
    Processor.DOT_PRODUCT: 2.0,
    Processor.OTHER: 2.0,
}
"""Factors for other operations, and for launches and copies. Estimated; memory limits most of them."""


@cache
def find_processor() -> Processor:
    sets = find_instruction_sets()
    if "amx_int8" in sets:
        return Processor.AMX
    if "avx512_vnni" in sets:
        return Processor.VNNI
    known = Processor.AVX_VNNI, Processor.AVX2, Processor.DOT_PRODUCT
    return next((each for each in known if each in sets), Processor.OTHER)


def read_scaled(engine: str, processor: Processor, in_bytes: float | Factors) -> Timings:
    """Return an engine's timings on a processor. Sums of bytes have the factor ``in_bytes``, or one for each class; the
    other factors are the same for all engines."""
    quantized = {(kind, element) for kind in SUMS for element in QUANTIZED}
    factors = dict(in_bytes) if isinstance(in_bytes, Mapping) else dict.fromkeys(quantized, in_bytes)
    factors |= {(kind, Element.FLOAT32): FLOAT[processor] for kind in SUMS}
    return scale_timings(read_measured(engine), factors, OTHERS[processor], BYTE_MAC[processor])


def scale_timings(timings: Timings, factors: Factors, others: float = 1.0, byte_mac: float = 0.0) -> Timings:
    """Multiply timings by the factor of their class, else by ``others``; a MAC of bytes takes ``byte_mac`` or more."""
    costs = {}
    for each, cost in timings.costs.items():
        factor = factors.get(each, others)
        found = Cost(cost.operation * others, *(factor * seconds for seconds in cost[1:]))
        least = byte_mac if each[0] in SUMS and each[1] in QUANTIZED else 0.0
        costs[each] = found._replace(mac=max(found.mac, least))
    return Timings(timings.launch * others, timings.byte * others, costs)


def find_impossible_timing(timings: Timings, processor: Processor) -> str | None:
    """Describe the first impossible timing (zero, or more MACs per second than a core can do); None without one."""
    least = LEAST_MAC.get(processor, min(LEAST_MAC.values()))
    for (kind, element), cost in timings.costs.items():
        if min(cost) < 0 or not any(cost):
            return f"{kind} of {element} takes {min(cost)} s"
        if kind in SUMS and element is not Element.OTHER and cost.mac + cost.byte / 64 < least:
            return f"{kind} of {element} takes {cost.mac} s a MAC, a core needs {least}"
    return None


@cache
def read_measured(engine: str) -> Timings:
    with open(os.path.join(os.path.dirname(__file__), "timings.txt"), encoding="utf-8") as file:
        section = file.read().partition(f"[{engine}]\n")[2].partition("\n[")[0]
    rows = [line.split(", ") for line in section.splitlines() if line and not line.startswith("#")]
    (_, launch, byte), *costs = rows
    return Timings(
        float(launch),
        float(byte),
        {(Kind(kind), Element(element)): Cost(*map(float, seconds)) for kind, element, *seconds in costs},
    )
