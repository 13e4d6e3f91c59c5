"""NumPy's seconds per operation, by processor."""

from nnapi.contract.timings import FLOAT, Processor, Timings, find_processor, read_scaled


def find_timings() -> Timings:
    return for_processor(find_processor())


def for_processor(processor: Processor) -> Timings:
    """Return the timings for a processor. The kernels sum products of bytes in floating point."""
    return read_scaled("reference", processor, FLOAT[processor])
