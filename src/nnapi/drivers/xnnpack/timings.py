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
WINOGRAD = {
    FloatWidth.AVX512: Costs(1e-7, 7.92e-12, 1.65e-10, 3.9e-11, 2.95e-11, 1.57e-10, 8.05e-11, 7, 7.94e-12, 1.04e-10),
    FloatWidth.AVX2: Costs(
        2.74e-7, 1.7e-11, 4.65e-11, 8.05e-11, 6.72e-11, 1.39e-10, 9.25e-11, 7, 1.43e-11, 1e-11, far=1.3e-10
    ),
}
"""Costs of convolutions, measured on one core of an AMD Zen 5 by ``benchmarks/convolutions.py``. AVX-512 was hidden
from XNNPACK for AVX2, and VNNI for the costs of bytes. Those of large images were measured on a Zen 3 with AVX2."""


def find_timings() -> Timings:
    return for_processor(find_processor())


def for_processor(processor: Processor) -> Timings:
    return read_scaled("xnnpack", processor, BYTES[processor])


def find_winograd_costs() -> Costs:
    return find_costs(WINOGRAD)
