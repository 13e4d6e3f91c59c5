"""How long XNNPACK takes for operations, by processor."""

from __future__ import annotations

from nnapi.drivers.timings import (
    BYTE_MAC,
    QUANTIZED,
    SUMS,
    Element,
    Factors,
    Processor,
    Timings,
    by_kind,
    find_processor,
    scale,
)
from nnapi.model.facts import Kind

MEASURED = Timings(
    1.8e-06,
    2.1e-11,
    by_kind(
        {
            Kind.ELEMENTWISE: {
                Element.FLOAT32: (4.4e-08, 0.0, 6.2e-12),
                Element.UNSIGNED: (1.6e-07, 0.0, 5.7e-11),
                Element.SIGNED: (6.5e-08, 0.0, 5.5e-11),
                Element.OTHER: (9.1e-08, 0.0, 7.8e-12),
            },
            Kind.CONVOLUTION: {
                Element.FLOAT32: (1.5e-07, 1.1e-11, 0.0, 3.1e-11, 1.6e-09),
                Element.UNSIGNED: (1.6e-08, 8.3e-13, 6.7e-11, 6.8e-10, 3.7e-09),
                Element.SIGNED: (0.0, 2.1e-13, 4e-11, 1.9e-09, 3.3e-09),
            },
            Kind.DEPTHWISE: {
                Element.FLOAT32: (0.0, 2.1e-11, 0.0, 4.6e-09, 5.1e-10),
                Element.UNSIGNED: (3.2e-07, 3e-11, 3.3e-11, 4.4e-09),
                Element.SIGNED: (4.4e-07, 3e-11, 3.2e-11, 3e-09),
            },
            Kind.PRODUCT: {
                Element.FLOAT32: (0.0, 6.7e-12, 6.6e-12, 7.5e-08),
                Element.UNSIGNED: (1.2e-07, 4.3e-12, 8.3e-12),
                Element.SIGNED: (3e-07, 2.6e-12, 6.7e-12),
            },
            Kind.RECURRENT: {
                Element.FLOAT32: (3.1e-07, 6.4e-12, 1.8e-11),
                Element.SIGNED: (3.5e-07, 2.6e-11),
            },
            Kind.TRANSCENDENTAL: {
                Element.FLOAT32: (7e-08, 0.0, 3.4e-11),
                Element.UNSIGNED: (7.7e-08, 0.0, 5.8e-11),
                Element.SIGNED: (9.4e-09, 0.0, 5.2e-11),
            },
            Kind.REDUCTION: {
                Element.FLOAT32: (1.9e-07, 0.0, 2.9e-11),
                Element.UNSIGNED: (1.9e-07, 0.0, 1.8e-10),
                Element.SIGNED: (1.8e-07, 0.0, 1.9e-10),
            },
            Kind.RESIZE: {
                Element.FLOAT32: (2.1e-07, 0.0, 4.5e-11),
                Element.UNSIGNED: (6.4e-07, 0.0, 3e-10),
                Element.SIGNED: (3.2e-07, 0.0, 3e-10),
            },
            Kind.MOVEMENT: {
                Element.FLOAT32: (1.4e-07, 0.0, 9.6e-12),
                Element.UNSIGNED: (2.5e-07, 0.0, 3.7e-11),
                Element.SIGNED: (1.2e-07, 0.0, 3.5e-11),
            },
            Kind.RESHAPE: {
                Element.FLOAT32: (1.1e-08, 0.0, 6.3e-12),
                Element.UNSIGNED: (9.2e-08, 0.0, 1.4e-11),
                Element.SIGNED: (3.2e-08, 0.0, 9e-12),
                Element.OTHER: (3.6e-08, 0.0, 6.3e-12),
            },
        }
    ),
)
"""On one core of an Intel Xeon with AVX-512 VNNI and AMX, measured with benchmarks/operator_costs.py."""

IN_BYTES = {(kind, element) for kind in SUMS for element in QUANTIZED}
SCALES: dict[Processor, tuple[Factors, float]] = {
    Processor.AMX: ({}, 1.0),
    Processor.VNNI: (dict.fromkeys(IN_BYTES, 1.5), 1.0),
    Processor.AVX2: (dict.fromkeys(IN_BYTES, 3.0) | {(kind, Element.FLOAT32): 2.0 for kind in SUMS}, 1.5),
    Processor.DOT_PRODUCT: (dict.fromkeys(IN_BYTES, 4.0) | {(kind, Element.FLOAT32): 4.0 for kind in SUMS}, 2.0),
    Processor.OTHER: (dict.fromkeys(IN_BYTES, 8.0) | {(kind, Element.FLOAT32): 4.0 for kind in SUMS}, 2.0),
}
"""Times as long for sums of products, and for the rest. Not measured, but reasoned from the width of vectors and the
instructions for products: VNNI does 128 MACs of bytes a cycle where AMX does 1024 and mostly waits for tiles; AVX2
multiplies bytes as 16-bit values and has half as wide vectors; ARM's dot products have a quarter of the width."""


def find_timings() -> Timings:
    """Return the timings for the processor at hand."""
    return for_processor(find_processor())


def for_processor(processor: Processor) -> Timings:
    """Return the timings for a processor."""
    return scale(MEASURED, *SCALES[processor], BYTE_MAC[processor])
