"""The results of devices as JSON, in all files that ``nnapi check --output`` writes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nnapi.errors import UnusableFile
from nnapi.testing.suite.expectations import Judged
from nnapi.testing.suite.result import Status, Verdict, describe_result, result_from
from nnapi.testing.suite.selection import read_text

AUTOMATIC = "automatic choice"
"""The name of the devices if the runtime chose them."""


@dataclass(frozen=True)
class DeviceRun:
    """The results of one device, or of several that shared the work."""

    device: str
    results: Sequence[Judged]


def name_devices(devices: Sequence[str] | None) -> str:
    return ",".join(devices) if devices else AUTOMATIC


def describe_judged(results: Iterable[Judged]) -> list[dict[str, Any]]:
    return [
        {"test": each.result.test, **describe_result(each.result), "expected": each.expected, "verdict": each.verdict}
        for each in results
    ]


def read_runs(file: Path) -> list[DeviceRun]:
    """Return the runs in a file. Raises UnusableFile if ``nnapi check`` did not write it."""
    try:
        found = json.loads(read_text(file))
        return list(map(_read_run, found["devices"] if found["format"] == "nnapi-check-random" else [found]))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise UnusableFile(f"{file}: not results of nnapi check, as --output writes them") from None


def _read_run(described: Mapping[str, Any]) -> DeviceRun:
    return DeviceRun(described["device"] or AUTOMATIC, list(map(_read_judged, described["results"])))


def _read_judged(described: Mapping[str, Any]) -> Judged:
    return Judged(result_from(described), Verdict(described["verdict"]), Status(described["expected"]))


def merge_runs(runs: Iterable[DeviceRun]) -> list[DeviceRun]:
    """Return one run for each device, such as for shards; of a test with several results, the last counts."""
    found: dict[str, dict[str, Judged]] = {}
    for run in runs:
        found.setdefault(run.device, {}).update({each.result.test: each for each in run.results})
    return [DeviceRun(device, list(results.values())) for device, results in found.items()]
