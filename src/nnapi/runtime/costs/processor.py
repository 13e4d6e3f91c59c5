"""The processor that costs are measured on, by its name."""

from __future__ import annotations

import os
from functools import cache


@cache
def name_processor() -> str:
    """The processor's name and how many of its cores this process may use."""
    name = os.uname().machine
    try:
        with open("/proc/cpuinfo") as lines:
            name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name} × {len(os.sched_getaffinity(0))}"
