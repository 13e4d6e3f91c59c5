"""OpenVINO's seconds per operation, by processor."""

from nnapi.contract.timings import (
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
"""Factors for sums of products and for other operations, estimated as XNNPACK's are."""
WITHOUT_BYTES = (Processor.AVX2, Processor.DOT_PRODUCT, Processor.OTHER)
"""Processors on which signed values are computed in float32, too. On x86 without VNNI, the driver demands it
(:mod:`.byte_sums`). On ARM, the engine's kernels for bytes support few patterns."""


def find_timings(device: str) -> Timings | None:
    """Return the timings of the CPU for this processor; None for other devices."""
    return for_processor(find_processor()) if device == "CPU" else None


def for_processor(processor: Processor) -> Timings:
    found = scale_timings(read_measured("openvino"), *SCALES[processor], BYTE_MAC[processor])
    if processor not in WITHOUT_BYTES:
        return found
    in_float: dict[tuple[Kind, Element], Cost] = {
        (kind, Element.SIGNED): found.costs[kind, Element.UNSIGNED] for kind in SUMS
    }
    return found._replace(costs={**found.costs, **in_float})
