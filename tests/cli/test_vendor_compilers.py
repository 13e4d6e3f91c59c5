"""The vendors' compilers: what LiteRT's tool prints and writes, and which libraries it is given."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import nnapi
from nnapi.cli import vendor_compilers
from nnapi.cli.accelerators import NoAnswerError
from nnapi.cli.vendor_compilers import VENDORS, Vendor, VendorCompiler, find_problem, list_compilers, list_left
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from nnapi.formats.tflite.names import write_named_tensors
from nnapi.formats.tflite.writer import serialize
from nnapi.model.model import Model

QUALCOMM, *_, SAMSUNG, INTEL = VENDORS


@pytest.fixture(autouse=True)
def _any_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendor_compilers, "find_version", lambda package: "7")


def build_chain() -> Model:
    net = nnapi.Builder("chain")
    x = net.input(nnapi.tensor("float32", (2,)))
    net.output(net.neg(net.abs(x)))
    return net.finish()


def written(*kinds: str) -> bytes:
    """Return a file of operators with one input; the names of their results are numbered."""
    values = [Tensor("f32", (2,), name=f"op{number - 1}") for number in range(len(kinds) + 1)]
    operators = [Operator(kind, [values[i]], [values[i + 1]]) for i, kind in enumerate(kinds)]
    return serialize(Graph(operators, [values[0]], [values[-1]], name="chain"), write_named_tensors)


@pytest.mark.parametrize(
    ("vendor", "log", "expected"),
    [
        (
            QUALCOMM,
            "Could not load shared library /a/libPlugin.so: libQnnHtp.so: cannot open shared object file: No such",
            "the vendor's library libQnnHtp.so is missing: pip install ai-edge-litert-sdk-qualcomm",
        ),
        (
            INTEL,
            "/a/libPlugin.so: libopenvino.so.2631: cannot open shared object file: No such",
            "the vendor's library libopenvino.so.2631 is missing: pip install openvino==2026.3.1",
        ),
        (
            SAMSUNG,
            "Could not load shared library /a/libPlugin.so: /a/libPlugin.so: undefined symbol: _ZN3a.\n",
            "the compiler in LiteRT's wheel cannot be loaded: undefined symbol: _ZN3a",
        ),
        (INTEL, "ERROR: [b.cc:3] No variable tensors\nINFO: bye\n", "No variable tensors"),
        (INTEL, "", "the compiler selected no operators and printed no reason"),
    ],
)
def test_the_problem_in_a_log(vendor: Vendor, log: str, expected: str) -> None:
    assert find_problem(log, vendor) == expected


def test_operations_that_are_left_have_reasons() -> None:
    log = "INFO: [a.cc:1] op type 78 is not supported\n"  # HARD_SWISH is 117, ABS is 101
    content = written("ABS", "NEG")
    assert list_left(content, log) == dict.fromkeys((0, 1), "the compiler leaves it to the CPU")
    assert list_left(content, "op type 101 is not supported")[0] == "the compiler does not support ABS"


def make_wheel(folder: Path, script: str) -> Path:
    """Return a wheel with a tool that is a shell script."""
    wheel = folder / "ai_edge_litert"
    tool = wheel / "tools" / "apply_plugin_main"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\nfor each; do case $each in --o=*) out=${{each#--o=}};; esac; done\n{script}\n")
    tool.chmod(0o755)
    return wheel


def test_operations_are_refused_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "left.tflite").write_bytes(written("ABS"))
    compiler = VendorCompiler(SAMSUNG, make_wheel(tmp_path, f"cp {tmp_path}/left.tflite $out"))
    model = build_chain()
    refused = compiler.list_refusals(model, [])
    assert refused == ["the compiler leaves it to the CPU", ""]
    assert compiler.count_partitions(model, refused) == 1
    assert [path.name for path in compiler.write_files(model, tmp_path / "m")] == ["m-samsung.tflite"]


def test_a_compiler_without_a_file_says_why(tmp_path: Path) -> None:
    compiler = VendorCompiler(SAMSUNG, make_wheel(tmp_path, 'echo "ERROR: [a.cc:1] it is too large"'))
    with pytest.raises(NoAnswerError, match=r"^it is too large$"):
        compiler.list_refusals(build_chain(), [])
    with pytest.raises(NoAnswerError, match=r"^no file is compiled: it is too large$"):
        compiler.write_files(build_chain(), tmp_path / "m")
    assert not list(tmp_path.glob("m*"))


def test_the_tool_gets_the_folders_of_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library that a compiler needs, it is not asked."""
    wheel = make_wheel(tmp_path, 'echo "ERROR: [a.cc:1] $* $LD_LIBRARY_PATH"')
    monkeypatch.setenv("LD_LIBRARY_PATH", "/other")
    monkeypatch.setattr(vendor_compilers, "find_spec", lambda name: None)
    compiler = VendorCompiler(QUALCOMM, wheel)
    with pytest.raises(NoAnswerError, match="libQnnLpai.so is missing: pip install ai-edge-litert-sdk-qualcomm$"):
        compiler.list_refusals(build_chain(), [])
    (tmp_path / "libQnnLpai.so").touch()
    monkeypatch.setenv("LD_LIBRARY_PATH", f"/other:{tmp_path}")
    with pytest.raises(NoAnswerError) as asked:
        compiler.list_refusals(build_chain(), [])
    assert str(asked.value).startswith("--cmd=partition --model=")
    assert str(asked.value).endswith(f"--soc_manufacturer=Qualcomm --soc_model=SM8750 /other:{tmp_path}")


def test_each_compiler_of_the_wheel_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path, "")
    (wheel / "vendors" / "qualcomm" / "compiler").mkdir(parents=True)
    (wheel / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ai_edge_litert", raising=False)
    (compiler,) = list_compilers()
    assert (compiler.name, compiler.source) == ("Qualcomm SM8750", "vendor's compiler, by LiteRT 7")
    monkeypatch.setattr(vendor_compilers, "find_spec", lambda name: None)
    assert list_compilers() == []


def test_installed_compilers_answer() -> None:
    """Those of LiteRT's wheel, with the libraries that are installed."""
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    reasons = []
    for compiler in list_compilers():
        try:
            reasons += compiler.list_refusals(build_chain(), [])
        except NoAnswerError as error:
            reasons.append(str(error))
    known = "the vendor's library", "the compiler in LiteRT's wheel cannot be loaded", "the compiler does not support"
    assert all(not reason or reason.startswith(known) for reason in reasons), reasons


@pytest.mark.skipif("openvino/libs" not in os.environ.get("LD_LIBRARY_PATH", ""), reason="needs `make npu`")
def test_intel_s_compiler_refuses_with_a_reason() -> None:
    (intel,) = (compiler for compiler in list_compilers() if compiler.name.startswith("Intel"))
    assert intel.list_refusals(build_chain(), []) == ["", "the compiler does not support NEG"]
