"""The machine that something was measured on, in words."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path


def machine() -> dict[str, str]:
    """Return facts that may explain timings: processor, cores, memory, load, system, versions. Unknown ones are
    omitted."""
    facts = {
        "processor": _processor(),
        "cores": f"{cores()} of {os.cpu_count()} usable",
        "memory": _memory(),
        "load before": _load(),
        "system": _system(),
        "Python": f"{platform.python_version()} ({sys.implementation.name})",
        "NumPy": installed("numpy"),
        "nnapi": installed("nnapi"),
    }
    return {name: fact for name, fact in facts.items() if fact}


def cores() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    name = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    return f"{name[1].strip()} ({platform.machine()})" if name else platform.processor() or platform.machine()


def _memory() -> str:
    total = re.search(r"MemTotal:\s*(\d+) kB", _read("/proc/meminfo"))
    return f"{int(total[1]) * 1024 / 1e9:.1f} GB" if total else ""


def _load() -> str:
    return f"{os.getloadavg()[0]:.2f} runnable threads in the last minute" if hasattr(os, "getloadavg") else ""


def _system() -> str:
    name = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.MULTILINE)
    kernel = f"{platform.system()} {platform.release()}"
    return f"{name[1]}, {kernel}" if name else kernel


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
