"""A summary of skipped tests: how many, why, and how to have them run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

WAYS = {
    r"\((pip install|set) ": "",  # it says so itself
    r"reference material": "set NNAPI_SHARED to its folder",
    r"(?i)litert is not installed|no wheel for this platform": "pip install ai-edge-litert, for Python 3.11 to 3.14",
    r"OpenVINO": "pip install -e '.[openvino]'",
    r"onnxruntime": "pip install onnxruntime",
    r"needs the extra (\w+)": r"pip install -e '.[\1]'",
    r"scikit-learn": "pip install scikit-learn",
    r"([\w.\[\]-]+) is not installed": r"pip install '\1'",
    r"needs (onnxscript)": r"pip install \1",
    r"no C\+\+ compiler|no g\+\+": "install g++",
    r"no C compiler|C library is not built|own delegate is not built": "install gcc, then make",
    r"no (flatc|pkg-config|objdump)": r"install \1",
    r"no GoogleTest": "install GoogleTest",
    r"needs (strace|Java)": r"install \1",
    r"needs a GPU": "run on a machine with a GPU, or install Mesa from 25.0 on",
}
"""The command that provides a missing requirement, by a pattern of the reason; \\1 is the pattern's group."""


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if lines := list(summarize(map(find_reason, terminalreporter.stats.get("skipped", ())))):
        terminalreporter.section("skipped")
        for line in lines:
            terminalreporter.line(line)


def find_reason(report: Any) -> str:
    """The reason that a test, or a whole file, was skipped for."""
    told = report.longrepr
    return str(told[2] if isinstance(told, tuple) else told).removeprefix("Skipped: ")


def summarize(reasons: Iterable[str]) -> Iterator[str]:
    """One line for each reason, with how to have those tests run where a way is known, the most frequent first."""
    for reason, count in Counter(reason.partition("\n")[0] for reason in reasons).most_common():
        yield ": ".join(filter(None, (f"{count:6} {reason}", find_way(reason))))


def find_way(reason: str) -> str:
    """How to have a test run that is skipped for a reason; nothing where no way is known."""
    for pattern, way in WAYS.items():
        if found := re.search(pattern, reason):
            return found.expand(way)
    return ""
