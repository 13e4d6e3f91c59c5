"""The measured costs of devices, as ``nnapi devices --costs`` shows them."""

from __future__ import annotations

import os
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

import nnapi
from nnapi.cli.progress import progress
from nnapi.cli.text import console, duration, indent, say_count, table
from nnapi.runtime.costs.calibration import measure_all
from nnapi.runtime.costs.cost_tables import Table as Measured
from nnapi.runtime.costs.cost_tables import open_costs
from nnapi.runtime.costs.thread_choice import count_threads


def measure() -> None:
    """Measure every device anew on one thread and on all, and keep what was found."""
    devices = [(device, threads) for device in nnapi.devices() for threads in _threads(device)]
    with progress(console(), len(devices)) as step:
        for device, threads in devices:
            step(f"measuring {device.name}")
            measure_all(open_costs(), device, threads)


def list_costs() -> RenderableType:
    """A table of figures for each device and number of threads."""
    parts: list[RenderableType] = []
    for device in nnapi.devices():
        for threads in _threads(device):
            known = open_costs().table(device, threads)
            heading = f"[bold]{escape(device.name)}[/] on {say_count(threads, 'thread')}"
            if known.launch is None:
                parts += [f"{heading}: not measured", ""]
                continue
            copies = f"{1e9 * (known.byte or 0):.3g} ns a byte"
            parts += [f"{heading}: launch {duration(known.launch)}, copies {copies}", indent(_figures(known)), ""]
    return Group(*parts)


def data() -> dict[str, Any]:
    """The tables by device and number of threads, ready for JSON."""
    costs = open_costs()
    return {
        device.name: {str(threads): costs.table(device, threads).as_data() for threads in _threads(device)}
        for device in nnapi.devices()
    }


def _threads(device: nnapi.Device) -> list[int]:
    """The numbers of threads that a device is measured for."""
    return sorted({count_threads(device, count) for count in (1, len(os.sched_getaffinity(0)))})


def _figures(known: Measured) -> Table:
    rows = table("operations", "operands", "each", "a MAC", "a byte", right=["each", "a MAC", "a byte"])
    for (kind, element), cost in sorted(known.costs.items()):
        if cost is not None:
            each, mac, byte = (f"{seconds:.3g}" for seconds in (1e6 * cost.operation, 1e9 * cost.mac, 1e9 * cost.byte))
            rows.add_row(kind, element, f"{each} µs", f"{mac} ns", f"{byte} ns")
    return rows
