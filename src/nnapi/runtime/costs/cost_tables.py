"""What devices were measured to cost on this machine.

A table belongs to a device, its engine's version, the processor and a number of threads. What cannot be kept is
measured again by the next process.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from nnapi.runtime.costs.processor import name_processor
from nnapi.runtime.costs.workload import Element, Kind, Work
from nnapi.runtime.device import Device
from nnapi.store.directories import RecordKind, default_directory
from nnapi.store.records import keep_record, recall_record


class Cost(NamedTuple):
    """Seconds of an operation: so many whatever it does (at each step), and so many for each MAC and byte, pixel of a
    result and place of a filter."""

    operation: float
    mac: float
    byte: float
    pixel: float = 0.0
    place: float = 0.0

    def seconds(self, work: Work) -> float:
        return (
            self.operation * work.steps
            + self.mac * work.macs
            + self.byte * work.nbytes
            + self.pixel * work.pixels
            + self.place * work.places
        )


class Fastest(NamedTuple):
    """Seconds of an operation that is computed in whichever way takes least."""

    costs: tuple[Cost, ...]

    def seconds(self, work: Work) -> float:
        return min(cost.seconds(work) for cost in self.costs)


@dataclass(frozen=True)
class Table:
    """What was measured of a device: seconds to hand it a tensor, to copy a byte, and for operations.

    None stands for what was tried and could not be measured: the declared figure holds there. ``estimate`` is what is
    expected of what was not tried.
    """

    launch: float | None = None
    byte: float | None = None
    costs: Mapping[tuple[Kind, Element], Cost | None] = field(default_factory=dict)
    estimate: Estimate | None = None

    @property
    def says_anything(self) -> bool:
        """Whether there is more to go by than declared figures."""
        return bool(self.costs or self.estimate)

    def as_data(self) -> dict[str, Any]:
        costs = {f"{kind}, {element}": cost for (kind, element), cost in self.costs.items()}
        return {"launch_seconds": self.launch, "seconds_per_byte": self.byte, "costs": costs}


class Estimate(NamedTuple):
    """What a device is expected to take before it was measured; it is kept nowhere."""

    launch: float
    byte: float
    costs: Mapping[tuple[Kind, Element], Fastest]


def parse_table(data: Any) -> Table:
    """The opposite of :meth:`Table.as_data`; ValueError, KeyError or TypeError for anything else."""
    costs = {}
    for name, figures in data["costs"].items():
        kind, element = name.rsplit(", ", 1)
        costs[Kind(kind), Element(element)] = None if figures is None else _parse_cost(figures)
    launch, byte = data["launch_seconds"], data["seconds_per_byte"]
    return Table(
        None if launch is None else _parse_figure(launch), None if byte is None else _parse_figure(byte), costs
    )


def _parse_cost(figures: Any) -> Cost:
    if len(figures) != len(Cost._fields):
        raise ValueError(f"{figures!r} are not the figures of an operation")
    return Cost(*map(_parse_figure, figures))


def _parse_figure(value: Any) -> float:
    if not (isinstance(value, int | float) and 0 <= value < math.inf):
        raise ValueError(f"{value!r} is no number of seconds")
    return float(value)


def name_table(device: Device, threads: int) -> str:
    """What tells a table from others."""
    return f"{device.name}, {device.version}, {name_processor()}, threads: {threads}"


class Costs:
    """The tables of this machine, each read once."""

    def __init__(self) -> None:
        self._tables: dict[str, Table] = {}
        self.paces: dict[str, float] = {}
        """Seconds that one more sample takes on a device, by the names of the tables, as far as this process knows."""

    def table(self, device: Device, threads: int) -> Table:
        """What is known of a device that runs on so many threads; a table of nothing where it was not measured."""
        name = name_table(device, threads)
        if name not in self._tables:
            self._tables[name] = recall_record(RecordKind.COSTS, name, parse_table) or Table()
        return self._tables[name]

    def keep(self, device: Device, threads: int, table: Table) -> None:
        """Remember a table, also for later processes."""
        name = name_table(device, threads)
        self._tables[name] = table
        keep_record(RecordKind.COSTS, name, table.as_data(), device=device.name, version=device.version)


@cache
def _open_costs(directory: str) -> Costs:
    return Costs()


def open_costs() -> Costs:
    """The costs that are kept in the present :func:`default_directory`."""
    return _open_costs(default_directory())
