"""The timings that drivers ship for this processor, as ``nnapi devices --costs`` shows them."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

import nnapi
from nnapi.cli.text import duration, indent, table
from nnapi.drivers.timings import Timed, Timings, find_processor


def list_costs() -> RenderableType:
    """A table of costs on one thread for each device."""
    parts: list[RenderableType] = [f"predicted on one thread of a processor with {find_processor()}", ""]
    for device in nnapi.devices():
        known = _find_timings(device)
        heading = f"[bold]{escape(device.name)}[/]"
        if known is None:
            parts += [f"{heading}: nothing is known, what it declares counts", ""]
            continue
        copies = f"{1e9 * known.byte:.3g} ns a byte"
        parts += [f"{heading}: launch {duration(known.launch)}, copies {copies}", indent(_list_rows(known)), ""]
    return Group(*parts)


def data() -> dict[str, Any]:
    """The timings by device, ready for JSON."""
    return {device.name: known and _as_data(known) for device in nnapi.devices() for known in [_find_timings(device)]}


def _find_timings(device: nnapi.Device) -> Timings | None:
    return device.driver.timings() if isinstance(device.driver, Timed) else None


def _as_data(known: Timings) -> dict[str, Any]:
    costs = {f"{kind}, {element}": cost._asdict() for (kind, element), cost in known.costs.items()}
    return {"launch_seconds": known.launch, "seconds_per_byte": known.byte, "costs": costs}


def _list_rows(known: Timings) -> Table:
    rows = table("operations", "operands", "each", "a MAC", "a byte", right=["each", "a MAC", "a byte"])
    for (kind, element), cost in sorted(known.costs.items()):
        each, mac, byte = (f"{seconds:.3g}" for seconds in (1e6 * cost.operation, 1e9 * cost.mac, 1e9 * cost.byte))
        rows.add_row(kind, element, f"{each} µs", f"{mac} ns", f"{byte} ns")
    return rows
