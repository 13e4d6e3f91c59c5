"""How long OpenVINO takes for operations on processors."""

from __future__ import annotations

from nnapi.drivers.timings import (
    BYTE_MAC,
    SUMS,
    Cost,
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
    7e-06,
    1.9e-11,
    by_kind(
        {
            Kind.ELEMENTWISE: {
                Element.FLOAT32: (3e-08,),
                Element.UNSIGNED: (7.3e-08, 0.0, 5.1e-11),
                Element.SIGNED: (4.4e-08, 0.0, 4.7e-11),
                Element.OTHER: (0.0, 0.0, 4.7e-12),
            },
            Kind.CONVOLUTION: {
                Element.FLOAT32: (9.2e-07, 9e-12, 0.0, 8.9e-10, 1.7e-10),
                Element.UNSIGNED: (9.9e-07, 9.1e-12, 1e-10, 0.0, 3.9e-10),
                Element.SIGNED: (1.3e-06, 0.0, 5.2e-11, 0.0, 8.6e-10),
            },
            Kind.DEPTHWISE: {
                Element.FLOAT32: (8.4e-07, 8.9e-12, 6.7e-12, 0.0, 3e-10),
                Element.UNSIGNED: (1.1e-06, 1.1e-11, 1e-10, 0.0, 4.3e-11),
                Element.SIGNED: (9.6e-07, 1.6e-11, 6.2e-11),
            },
            Kind.PRODUCT: {
                Element.FLOAT32: (0.0, 5.9e-12, 8.5e-12, 6.9e-08),
                Element.UNSIGNED: (3e-07, 1.2e-11, 3.5e-11),
                Element.SIGNED: (4.5e-07, 3.8e-12, 1.1e-11),
            },
            Kind.TRANSCENDENTAL: {
                Element.FLOAT32: (8.9e-08, 0.0, 6e-11),
                Element.UNSIGNED: (6e-08, 0.0, 2.9e-10),
                Element.SIGNED: (9.5e-08, 0.0, 3.2e-10),
            },
            Kind.REDUCTION: {
                Element.FLOAT32: (1.2e-06, 0.0, 2.7e-10),
                Element.UNSIGNED: (1.3e-06, 0.0, 3.1e-10),
                Element.SIGNED: (1.3e-06, 0.0, 3.5e-10),
            },
            Kind.RESIZE: {
                Element.FLOAT32: (9e-07, 0.0, 1e-10),
                Element.UNSIGNED: (1.9e-06, 0.0, 5.5e-10),
                Element.SIGNED: (2.3e-06, 0.0, 6.1e-10),
            },
            Kind.MOVEMENT: {
                Element.FLOAT32: (2.7e-07, 0.0, 1.1e-11),
                Element.UNSIGNED: (2.1e-07, 0.0, 6.6e-11),
                Element.SIGNED: (2.2e-07, 0.0, 6.6e-11),
            },
            Kind.RESHAPE: {
                Element.FLOAT32: (1.2e-07, 0.0, 3.3e-12),
                Element.UNSIGNED: (1.3e-07, 0.0, 1.7e-11),
                Element.SIGNED: (1.3e-07, 0.0, 1.6e-11),
                Element.OTHER: (1.3e-07, 0.0, 4.5e-12),
            },
        }
    ),
)
"""On one core of an Intel Xeon with AVX-512 VNNI and AMX, measured with benchmarks/operator_costs.py. Unsigned filters
are computed in float32, because the engine has no kernels for their zero points."""

SIGNED = {(kind, Element.SIGNED) for kind in SUMS}
FLOAT = {(kind, element) for kind in SUMS for element in (Element.FLOAT32, Element.UNSIGNED)}
SCALES: dict[Processor, tuple[Factors, float]] = {
    Processor.AMX: ({}, 1.0),
    Processor.VNNI: (dict.fromkeys(SIGNED, 1.5), 1.0),
    Processor.AVX2: (dict.fromkeys(FLOAT, 2.0), 1.5),
    Processor.DOT_PRODUCT: (dict.fromkeys(FLOAT, 4.0), 2.0),
    Processor.OTHER: (dict.fromkeys(FLOAT, 4.0), 2.0),
}
"""Times as long for sums of products, and for the rest; reasoned, not measured (see the table of XNNPACK)."""
WITHOUT_BYTES = (Processor.AVX2, Processor.DOT_PRODUCT, Processor.OTHER)
"""Processors on which signed values are computed in float32 too: without VNNI the driver makes the engine do that
(:mod:`.byte_sums`), on ARM its kernels for bytes take few of the patterns that models have."""


def find_timings(device: str) -> Timings | None:
    """Return the timings for the processor at hand; None for other devices of the engine."""
    return for_processor(find_processor()) if device == "CPU" else None


def for_processor(processor: Processor) -> Timings:
    """Return the timings for a processor."""
    found = scale(MEASURED, *SCALES[processor], BYTE_MAC[processor])
    if processor not in WITHOUT_BYTES:
        return found
    in_float: dict[tuple[Kind, Element], Cost] = {
        (kind, Element.SIGNED): found.costs[kind, Element.UNSIGNED] for kind in SUMS
    }
    return found._replace(costs={**found.costs, **in_float})
