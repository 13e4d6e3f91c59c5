"""The instruction sets of the processor by Linux's names: ``avx512_vnni``, ``i8mm``…"""

from functools import cache

FIELDS = ("flags", "Features")
"""The line of instruction sets, on x86 and on ARM."""


@cache
def find_instruction_sets() -> frozenset[str]:
    """Return those of the first processor; none if the system has no list."""
    try:
        with open("/proc/cpuinfo") as lines:
            return next((read_line(line) for line in lines if line.startswith(FIELDS)), frozenset())
    except OSError:
        return frozenset()


def read_line(line: str) -> frozenset[str]:
    """Return the words behind the colon of a line of /proc/cpuinfo."""
    return frozenset(line.partition(":")[2].split())
