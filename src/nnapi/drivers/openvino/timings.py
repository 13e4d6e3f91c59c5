"""How long OpenVINO takes for operations on processors."""

from nnapi.drivers.timings import (
    BYTE_MAC,
    SUMS,
    Cost,
    Element,
    Factors,
    Processor,
    Timings,
    find_processor,
    read_measured,
    scale_timings,
)
from nnapi.model.facts import Kind

SIGNED = {(kind, Element.SIGNED) for kind in SUMS}
FLOAT = {(kind, element) for kind in SUMS for element in (Element.FLOAT32, Element.UNSIGNED)}
SCALES: dict[Processor, tuple[Factors, float]] = {
    Processor.AMX: ({}, 1.0),
    Processor.VNNI: (dict.fromkeys(SIGNED, 1.5), 1.0),
    Processor.AVX2: (dict.fromkeys(FLOAT, 2.0), 1.5),
    Processor.DOT_PRODUCT: (dict.fromkeys(FLOAT, 4.0), 2.0),
    Processor.OTHER: (dict.fromkeys(FLOAT, 4.0), 2.0),
}
"""Factors for sums of products and for the rest, estimated as those of XNNPACK."""
WITHOUT_BYTES = (Processor.AVX2, Processor.DOT_PRODUCT, Processor.OTHER)
"""Processors on which signed values are computed in float32 too: without VNNI the driver makes the engine do that
(:mod:`.byte_sums`), on ARM its kernels for bytes take few of the patterns that models have."""


def find_timings(device: str) -> Timings | None:
    """Return the timings for the processor at hand; None for other devices of the engine."""
    return for_processor(find_processor()) if device == "CPU" else None


def for_processor(processor: Processor) -> Timings:
    found = scale_timings(read_measured("openvino"), *SCALES[processor], BYTE_MAC[processor])
    if processor not in WITHOUT_BYTES:
        return found
    in_float: dict[tuple[Kind, Element], Cost] = {
        (kind, Element.SIGNED): found.costs[kind, Element.UNSIGNED] for kind in SUMS
    }
    return found._replace(costs={**found.costs, **in_float})
