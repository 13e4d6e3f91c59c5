"""XNNPACK's seconds per operation, by processor."""

from nnapi.contract.timings import (
    BYTE_MAC,
    QUANTIZED,
    SUMS,
    Element,
    Factors,
    Processor,
    Timings,
    find_processor,
    read_measured,
    scale_timings,
)

IN_BYTES = {(kind, element) for kind in SUMS for element in QUANTIZED}
SCALES: dict[Processor, tuple[Factors, float]] = {
    Processor.AMX: ({}, 1.0),
    Processor.VNNI: (dict.fromkeys(IN_BYTES, 1.5), 1.0),
    Processor.AVX2: (dict.fromkeys(IN_BYTES, 3.0) | {(kind, Element.FLOAT32): 2.0 for kind in SUMS}, 1.5),
    Processor.DOT_PRODUCT: (dict.fromkeys(IN_BYTES, 4.0) | {(kind, Element.FLOAT32): 4.0 for kind in SUMS}, 2.0),
    Processor.OTHER: (dict.fromkeys(IN_BYTES, 8.0) | {(kind, Element.FLOAT32): 4.0 for kind in SUMS}, 2.0),
}
"""Factors for sums of products and for other operations, estimated from vector widths and product instructions."""


def find_timings() -> Timings:
    return for_processor(find_processor())


def for_processor(processor: Processor) -> Timings:
    return scale_timings(read_measured("xnnpack"), *SCALES[processor], BYTE_MAC[processor])
