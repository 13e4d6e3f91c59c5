"""The timeline of one run as plain values for a page."""

from collections.abc import Mapping, Sequence
from typing import Any

from nnapi.printable import pluralize
from nnapi.trace import Span

LAYERS = {
    "LA": "application",
    "LR": "runtime",
    "LI": "IPC",
    "LD": "driver",
    "LC": "CPU",
    "LU": "utility",
    "LO": "other",
    "LX": "other",
}
MOST = 4000
"""Spans that a page can show; the shortest are omitted."""


def timeline_data(spans: Sequence[Span]) -> dict[str, Any]:
    """Return the spans by thread and depth in microseconds, ready for JSON; ``left_out`` is the number omitted."""
    chosen = sorted(sorted(spans, key=lambda span: span.start - span.end)[:MOST], key=lambda span: span.start)
    origin = min((span.start for span in chosen), default=0)
    threads = list(dict.fromkeys((span.process, span.thread) for span in chosen))
    return {
        "microseconds": (max((span.end for span in chosen), default=0) - origin) / 1e3,
        "left_out": len(spans) - len(chosen),
        "spans": [
            {
                "name": span.label.name + (f" ({len(span.args['holds'])} operations)" if "holds" in span.args else ""),
                "layer": LAYERS.get(str(span.label.layer), "other"),
                "phase": span.label.phase.name.lower().replace("_", " "),
                "thread": threads.index((span.process, span.thread)),
                "thread_name": span.thread_name,
                "depth": span.depth,
                "start": (span.start - origin) / 1e3,
                "duration": (span.end - span.start) / 1e3,
                "operation": span.args.get("operation"),
                "held": describe_held(span.args) or span.args.get("engine", ""),
            }
            for span in chosen
        ],
    }


def describe_held(args: Mapping[str, Any]) -> str:
    """Describe the operations of a fused section: ``3 operations: #0 CONV_2D, #1 ADD, #2 SOFTMAX``."""
    if "holds" not in args:
        return ""
    numbers, names = args["holds"], args.get("kinds", ())
    listed = ", ".join(f"#{number} {name}" for number, name in zip(numbers, names, strict=False))
    return f"{pluralize(len(numbers), 'operation')}: {listed}"
