"""The vendors' compilers: what LiteRT's tool prints, and which libraries it is given."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nnapi.cli import vendor_compilers
from nnapi.cli.vendor_compilers import VENDORS, Answer, Vendor, ask_compilers, read_answer

QUALCOMM, *_, SAMSUNG, INTEL = VENDORS


@pytest.mark.parametrize(
    ("vendor", "log", "expected"),
    [
        (
            INTEL,
            "[a.cc:7] Partitioned subgraph<0>, selected 7 ops, from a total of 9 ops. resulted in 2 partitions.\n"
            "[a.cc:7] Partitioned subgraph<1>, selected 1 ops, from a total of 1 ops. resulted in 1 partitions.\n",
            Answer("npu", 8, 10, 3),
        ),
        (
            QUALCOMM,
            "Could not load shared library /a/libPlugin.so: libQnnHtp.so: cannot open shared object file: No such",
            Answer(
                "npu", problem="the vendor's library libQnnHtp.so is missing: pip install ai-edge-litert-sdk-qualcomm"
            ),
        ),
        (
            SAMSUNG,
            "Could not load shared library /a/libPlugin.so: /a/libPlugin.so: undefined symbol: _ZN3a.\n",
            Answer("npu", problem="the compiler in LiteRT's wheel cannot be loaded: undefined symbol: _ZN3a"),
        ),
        (INTEL, "ERROR: [b.cc:3] No variable tensors\nINFO: bye\n", Answer("npu", problem="No variable tensors")),
        (INTEL, "", Answer("npu", problem="the compiler selected no operators and printed no reason")),
    ],
)
def test_the_answer_in_a_log(vendor: Vendor, log: str, expected: Answer) -> None:
    assert read_answer("npu", vendor, log) == expected


def test_each_compiler_of_the_wheel_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for LiteRT's tool prints its arguments and its search path as an error."""
    wheel = tmp_path / "ai_edge_litert"
    tool = wheel / "tools" / "apply_plugin_main"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\necho "ERROR: [a.cc:1] $* $LD_LIBRARY_PATH"\n')
    tool.chmod(0o755)
    (wheel / "vendors" / "qualcomm" / "compiler").mkdir(parents=True)
    (wheel / "__init__.py").touch()
    libraries = tmp_path / "ai_edge_litert_sdk_qualcomm" / "data"
    libraries.mkdir(parents=True)
    (libraries.parent / "__init__.py").touch()
    (libraries / "libQnnHtp.so").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.delitem(sys.modules, "ai_edge_litert", raising=False)
    (answer,) = ask_compilers(tmp_path / "m.tflite", tmp_path / "out")
    assert answer.name == "Qualcomm SM8750"
    assert answer.problem.startswith(f"--cmd=partition --model={tmp_path / 'm.tflite'} ")
    assert answer.problem.endswith(f"--soc_manufacturer=Qualcomm --soc_model=SM8750 {libraries}")


def test_without_litert_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor_compilers, "find_spec", lambda name: None)
    assert list(ask_compilers(tmp_path / "m.tflite", tmp_path / "out")) == []
