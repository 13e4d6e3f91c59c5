"""Vela's output as it is read, and the command that makes it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from nnapi.drivers.ethos_u import vela
from nnapi.drivers.ethos_u.vela import ON_CPU, read_layers, read_summary, run_vela

SAID = """
Warning (supported operators) operator: RESIZE_BILINEAR, ofm: 'op12'
Reason: Scaling matches and operation has unsupported scale-factor=16
IF W Scale-factor != H Scale-factor:

Warning (supported operators) operator: RELU, ofm: 'op3_act'
Reason: Operation has tensor with unsupported DataType Float32 (op3)
"""


def row(name: str, cycles: str, target: str = "NPU") -> dict[str, str]:
    return {"Name": name, "Op Cycles": cycles, "Target": target}


def test_refusals_have_reasons() -> None:
    refusals, cycles = read_layers(SAID, [row("op12", "0", "CPU"), row("op4", "0", "CPU"), row("op1", "8")])
    assert refusals == {
        12: "Vela: Scaling matches and operation has unsupported scale-factor=16",
        3: "Vela: Operation has tensor with unsupported DataType Float32",
        4: ON_CPU,
    }
    assert cycles == {1: 8}


def test_cycles_of_parts_count_for_the_result_after_them() -> None:
    rows = [row("op1", "10"), row("op1", "5"), row("op1_softmax_0", "100"), row("gate", "20"), row("op2", "3")]
    assert read_layers("", rows) == ({}, {1: 15, 2: 123})


def test_the_summary_is_a_sentence() -> None:
    memories = {"sram_memory_used": "2", "dram_memory_used": "0", "on_chip_flash_memory_used": "0"}
    names = {"system_config": "Embedded", "memory_mode": "Shared"}
    found = {**memories, **names, "off_chip_flash_memory_used": "1", "cycles_total": "250000", "core_clock": "5e8"}
    assert read_summary(found) == (
        "Vela estimates 250,000 cycles, 0.5 ms at 500 MHz, 2.05 KB SRAM and 1.02 KB off-chip flash (Embedded, Shared)"
    )


def test_a_compiler_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("import time\nwhile True: time.sleep(60)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(vela, "MODULE", "endless")
    assert run_vela(b"", "ethos-u55-128", limit=0.2).failure == "Vela did not answer for 0.2 s"


def test_a_failure_has_the_last_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        assert Path(command[3]).read_bytes() == b"a file"
        return subprocess.CompletedProcess(command, 1, b"reading\n", b"it is damaged\n\n")

    monkeypatch.setattr(subprocess, "run", fail)
    assert run_vela(b"a file", "ethos-u55-128").failure == "Vela ends with 1: it is damaged"
