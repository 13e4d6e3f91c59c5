"""The instruction sets of the processor, by the names that Linux has for them: ``avx512_vnni``, ``i8mm``…"""

from __future__ import annotations

from functools import cache

FIELDS = ("flags", "Features")
"""The names of the line that lists the instruction sets, on x86 and on ARM."""


@cache
def find_instruction_sets() -> frozenset[str]:
    """Those that the first processor has; none where the system does not tell."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((read_line(line) for line in lines if line.startswith(FIELDS)), frozenset())
    except OSError:
        return frozenset()


def read_line(line: str) -> frozenset[str]:
    """The words behind the colon of a line of /proc/cpuinfo."""
    return frozenset(line.partition(":")[2].split())
