"""XNNPACK's seconds per operation, by processor."""

from nnapi.contract.timings import Processor, Timings, find_processor, read_scaled
from nnapi.contract.winograd import FloatWidth
from nnapi.lowering.tile_choice import Costs, find_costs

BYTES = {
    Processor.AMX: 1.0,
    Processor.VNNI: 1.5,
    Processor.AVX_VNNI: 3.0,
    Processor.AVX2: 3.0,
    Processor.DOT_PRODUCT: 4.0,
    Processor.OTHER: 8.0,
}
"""Factors for sums of products of bytes, estimated from vector widths and product instructions."""
WINOGRAD = {FloatWidth.AVX512: Costs(1e-7, 7.92e-12, 1.65e-10, 3.9e-11, 2.95e-11, 1.57e-10, 8.05e-11, 7)}
"""Costs of convolutions, measured on one core of an AMD Zen 5 by ``benchmarks/convolutions.py``."""


def find_timings() -> Timings:
    return for_processor(find_processor())


def for_processor(processor: Processor) -> Timings:
    return read_scaled("xnnpack", processor, BYTES[processor])


def find_winograd_costs() -> Costs:
    return find_costs(WINOGRAD)
