"""OpenVINO's seconds per operation, by processor."""

from nnapi.contract.timings import FLOAT, SUMS, Element, Processor, Timings, find_processor, read_scaled
from nnapi.contract.winograd import FloatWidth
from nnapi.lowering.tile_choice import Costs, find_costs

SIGNED = {Processor.AMX: 1.0, Processor.VNNI: 1.5, Processor.AVX_VNNI: 3.0}
"""Factors for sums of products of signed bytes, estimated as XNNPACK's are. On other processors the engine computes
them in float32, as it does those of unsigned bytes. On x86 without VNNI, the driver demands it (:mod:`.byte_sums`). On
ARM, the engine's kernels for bytes support few patterns."""
WINOGRAD = {
    FloatWidth.AVX512: Costs(1e-6, 7.98e-12, 2.12e-10, 1.41e-11, 2.98e-11, 8.57e-11, 1.19e-10),
    FloatWidth.AVX2: Costs(1.5e-6, 1.6e-11, 3.18e-10, 2.12e-11, 4.47e-11, 1.29e-10, 1.79e-10, far=3e-11),
}
"""Costs of convolutions, measured on one core of an AMD Zen 5 by ``benchmarks/convolutions.py``. Those for AVX2 are
estimated from these, except those of large images, which were measured on a Zen 3."""


def find_timings(device: str) -> Timings | None:
    """Return the timings of the CPU for this processor; None for other devices."""
    return for_processor(find_processor()) if device == "CPU" else None


def for_processor(processor: Processor) -> Timings:
    factors = {Element.UNSIGNED: FLOAT[processor], Element.SIGNED: SIGNED.get(processor, 1.0)}
    in_bytes = {(kind, element): factor for kind in SUMS for element, factor in factors.items()}
    found = read_scaled("openvino", processor, in_bytes)
    if processor in SIGNED:
        return found
    in_float = {(kind, Element.SIGNED): found.costs[kind, Element.UNSIGNED] for kind in SUMS}
    return found._replace(costs={**found.costs, **in_float})


def find_winograd_costs() -> Costs:
    return find_costs(WINOGRAD)
