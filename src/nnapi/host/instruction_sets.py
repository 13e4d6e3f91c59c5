"""Instruction sets of the processor, by Linux's names (``avx512_vnni``, ``i8mm``)."""

from functools import cache

FIELDS = ("flags", "Features")
"""Names of the line in /proc/cpuinfo with the instruction sets, on x86 and on ARM."""


@cache
def find_instruction_sets() -> frozenset[str]:
    """Return the instruction sets of the first processor; none if the system does not list them."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((read_line(line) for line in lines if line.startswith(FIELDS)), frozenset())
    except OSError:
        return frozenset()


def read_line(line: str) -> frozenset[str]:
    """Return the words after the colon in a line of /proc/cpuinfo."""
    return frozenset(line.partition(":")[2].split())
