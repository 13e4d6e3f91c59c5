"""Describe the machine of a measurement."""

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = {"nnapi": "nnapi", "NumPy": "numpy", "LiteRT": "ai-edge-litert", "OpenVINO": "openvino"}


def machine() -> dict[str, str]:
    """Return facts about the machine that may explain timings; unknown facts are omitted."""
    architecture, kernel = platform.machine(), f"{platform.system()} {platform.release()}"
    name = re.search(r"model name\s*:\s*(.+)", _read("/proc/cpuinfo"))
    total = re.search(r"MemTotal:\s*(\d+) kB", _read("/proc/meminfo"))
    system = re.search(r'^PRETTY_NAME="?([^"\n]+)', _read("/etc/os-release"), re.MULTILINE)
    facts = {
        "processor": f"{name[1].strip()} ({architecture})" if name else platform.processor() or architecture,
        "cores": f"{len(os.sched_getaffinity(0))} of {os.cpu_count()} usable",
        "memory": f"{int(total[1]) * 1024 / 1e9:.1f} GB" if total else "",
        "load before": f"{os.getloadavg()[0]:.2f} runnable threads in the last minute",
        "system": f"{system[1]}, {kernel}" if system else kernel,
        "Python": f"{platform.python_version()} ({sys.implementation.name})",
        "frequency governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(),
        **{name: _find_version(package) for name, package in PACKAGES.items()},
    }
    return {name: fact for name, fact in facts.items() if fact}


def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
