"""What devices were measured to cost on this machine, kept in a file beside the plans.

A table belongs to a device, its engine's version, the processor and a number of threads. What cannot be read counts as
nothing; what cannot be written is measured again by the next process.
"""

from __future__ import annotations

import json
import logging
import math
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from nnapi.runtime.costs.workload import Element, Kind, Work
from nnapi.runtime.device import Device
from nnapi.runtime.store.files import write_json

log = logging.getLogger("nnapi.ExecutionPlan")

FORMAT = 1
"""Raised whenever what is measured, or how, is no longer the same."""


class Cost(NamedTuple):
    """Seconds of an operation: so many whatever it does (at each step), and so many for each product and byte."""

    operation: float
    product: float
    byte: float

    def seconds(self, work: Work) -> float:
        return self.operation * work.steps + self.product * work.products + self.byte * work.nbytes


@dataclass(frozen=True)
class Table:
    """What was measured of a device: seconds to hand it a tensor, to copy a byte, and for operations.

    None stands for what was tried and could not be measured: the declared figure holds there.
    """

    launch: float | None = None
    byte: float | None = None
    costs: Mapping[tuple[Kind, Element], Cost | None] = field(default_factory=dict)

    def as_data(self) -> dict[str, Any]:
        costs = {f"{kind}, {element}": cost for (kind, element), cost in self.costs.items()}
        return {"launch_seconds": self.launch, "seconds_per_byte": self.byte, "costs": costs}


def table_from(data: Any) -> Table:
    """The opposite of :meth:`Table.as_data`; ValueError, KeyError or TypeError for anything else."""
    costs = {}
    for name, figures in data["costs"].items():
        kind, element = name.rsplit(", ", 1)
        costs[Kind(kind), Element(element)] = None if figures is None else Cost(*map(_figure, figures))
    launch, byte = data["launch_seconds"], data["seconds_per_byte"]
    return Table(None if launch is None else _figure(launch), None if byte is None else _figure(byte), costs)


def _figure(value: Any) -> float:
    if not (isinstance(value, int | float) and 0 <= value < math.inf):
        raise ValueError(f"{value!r} is no number of seconds")
    return float(value)


def table_name(device: Device, threads: int) -> str:
    """What tells a table from others in the file."""
    return f"{device.name}, {device.version}, {_processor()}, threads: {threads}"


class Costs:
    """The tables in a file of JSON, read once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._tables = _read(path)
        self.paces: dict[str, float] = {}
        """Seconds that one more sample takes on a device, by the names of the tables, as far as this process knows."""

    def table(self, device: Device, threads: int) -> Table:
        """What is known of a device that runs on so many threads; a table of nothing where it was not measured."""
        return self._tables.get(table_name(device, threads), Table())

    def keep(self, device: Device, threads: int, table: Table) -> None:
        """Remember a table, also for later processes; others' newer tables in the file stay."""
        with self._lock:
            self._tables = _read(self._path) | self._tables | {table_name(device, threads): table}
            tables = {name: each.as_data() for name, each in self._tables.items()}
            try:
                write_json(self._path, {"format": FORMAT, "tables": tables})
            except OSError as error:
                log.info("measured costs are not kept in %s: %s", self._path, error)


_costs: dict[str, Costs] = {}


def known_costs() -> Costs:
    """The costs that are kept in the present :func:`default_directory`."""
    path = os.path.join(default_directory(), "costs.json")
    if path not in _costs:
        _costs[path] = Costs(path)
    return _costs[path]


def _read(path: str | os.PathLike[str]) -> dict[str, Table]:
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
        if content["format"] != FORMAT:
            return {}
        return {name: table_from(data) for name, data in content["tables"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def default_directory() -> str:
    """Where this machine's measurements are kept: NNAPI_CACHE_DIR, or nnapi in the user's cache directory.

    For a user without a home it is where nothing can be kept.
    """
    return _directory(*map(os.environ.get, ("NNAPI_CACHE_DIR", "XDG_CACHE_HOME", "HOME")))


@cache
def _directory(chosen: str | None, users: str | None, home: str | None) -> str:
    """What the environment's three values lead to; the last decides through :func:`os.path.expanduser`."""
    if chosen:
        return chosen
    if not users:
        place = os.path.expanduser("~")
        users = os.devnull if place == "~" else os.path.join(place, ".cache")
    return os.path.join(users, "nnapi")


@cache
def _processor() -> str:
    """The processor's name and how many of its cores this process may use."""
    name = os.uname().machine
    try:
        with open("/proc/cpuinfo") as lines:
            name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name} × {len(os.sched_getaffinity(0))}"
