"""Run Vela on a .tflite file, and read which operations it leaves to the CPU, and its estimates."""

import csv
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from nnapi.exporters.tflite.numbered import PREFIX
from nnapi.printable import format_bytes
from nnapi.store.temporary import temporary_folder

LIMIT = 300.0
"""Maximum seconds of a compilation. Then the process is ended."""
MODULE = "ethosu.vela"
REFUSED = re.compile(rf"^Warning \(.*\) operator: \w+, ofm: '{PREFIX}(\d+)\D*'\nReason: (.*)$", re.MULTILINE)
TENSOR = re.compile(rf" \({PREFIX}[\w]*\)$")
OPERATION = re.compile(rf"{PREFIX}(\d+)")
ON_CPU = "Vela leaves it to the CPU"
MEMORIES = {
    "sram_memory_used": "SRAM",
    "dram_memory_used": "DRAM",
    "on_chip_flash_memory_used": "on-chip flash",
    "off_chip_flash_memory_used": "off-chip flash",
}
"""Columns of Vela's summary, in KiB."""


class Report(NamedTuple):
    """Vela's answer: reasons of refusals and cycles by operation, and estimates of the whole model.

    After a ``failure``, nothing else is known.
    """

    refusals: Mapping[int, str] = {}
    cycles: Mapping[int, int] = {}
    estimate: str = ""
    failure: str = ""


def run_vela(content: bytes, configuration: str, limit: float = LIMIT) -> Report:
    """Compile a file in a process of its own."""
    with temporary_folder("vela") as name:
        folder = Path(name)
        (folder / "model.tflite").write_bytes(content)
        options = ["--accelerator-config", configuration, "--output-dir", name, "--verbose-performance"]
        command = [sys.executable, "-m", MODULE, f"{name}/model.tflite", *options]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return Report(failure=f"Vela did not answer for {limit:g} s")
        said = done.stdout.decode(errors="replace")
        if done.returncode:
            return Report(failure=_find_failure(done.returncode, said + done.stderr.decode(errors="replace")))
        rows = _read_rows(folder, "model_per-layer.csv")
        summary = _read_rows(folder, "model_summary_*.csv")
        return Report(*read_layers(said, rows), read_summary(summary[0]) if summary else "")


def read_layers(said: str, rows: Iterable[Mapping[str, str]]) -> tuple[dict[int, str], dict[int, int]]:
    """Return reasons of refusals and cycles, by operation, from Vela's output and its table of operators."""
    refusals = {int(number): f"Vela: {TENSOR.sub('', reason)}" for number, reason in REFUSED.findall(said)}
    cycles, spent = dict[int, int](), 0
    for row in rows:
        spent += int(float(row["Op Cycles"]))
        if operation := OPERATION.fullmatch(row["Name"]):  # other names are those of parts, which precede the result
            number = int(operation[1])
            cycles[number], spent = cycles.get(number, 0) + spent, 0
            if row["Target"] == "CPU":
                refusals.setdefault(number, ON_CPU)
    return refusals, {number: count for number, count in cycles.items() if number not in refusals}


def read_summary(row: Mapping[str, str]) -> str:
    """Describe Vela's estimate of the whole model."""
    cycles, clock = float(row["cycles_total"]), float(row["core_clock"])
    used = [f"{format_bytes(1024 * float(row[key]))} {name}" for key, name in MEMORIES.items() if float(row[key])]
    system = f"{row['system_config']}, {row['memory_mode']}"
    times = f"{cycles:,.0f} cycles, {1e3 * cycles / clock:.3g} ms at {clock / 1e6:g} MHz"
    return f"Vela estimates {times}, {' and '.join(used) or 'no memory'} ({system})"


def _read_rows(folder: Path, pattern: str) -> list[dict[str, str]]:
    for path in folder.glob(pattern):
        with path.open(newline="", encoding="utf-8", errors="replace") as file:
            return list(csv.DictReader(file))
    return []


def _find_failure(status: int, said: str) -> str:
    lines = [line for line in said.splitlines() if line.strip()]
    return f"Vela ends with {status}: {lines[-1].strip() if lines else 'it says nothing'}"
