"""XNNPACK's seconds per operation, by processor."""

from nnapi.contract.timings import (
    Processor,
    Timings,
    find_processor,
    read_scaled,
)

BYTES = {
    Processor.AMX: 1.0,
    Processor.VNNI: 1.5,
    Processor.AVX_VNNI: 3.0,
    Processor.AVX2: 3.0,
    Processor.DOT_PRODUCT: 4.0,
    Processor.OTHER: 8.0,
}
"""Factors for sums of products of bytes, estimated from vector widths and product instructions."""


def find_timings() -> Timings:
    return for_processor(find_processor())


def for_processor(processor: Processor) -> Timings:
    return read_scaled("xnnpack", processor, BYTES[processor])
