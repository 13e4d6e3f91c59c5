"""A part of the public examples as files: nothing that is written means something else."""

from collections import Counter
from pathlib import Path

import pytest

from nnapi.operation_codes import FAMILIES
from nnapi.testing.corpus import Corpus
from tests.exporters.exported_cases import WAYS, outcome, run_network, run_operations
from tests.first_examples import load_first

STEP = 211
"""Every so manieth example is tried; benchmarks/exported.py tries all."""
ENGINES = {"LiteRT": "ai_edge_litert", "ONNX Runtime": "onnxruntime"}
MODULES = {"nnapi, .onnx": "onnx"} | ENGINES
"""The modules that run or read files."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.engine] if way in ENGINES else []) for way in WAYS]
)
def test_examples_compute_the_same_as_files(way: str, corpus: Corpus, tmp_path: Path) -> None:
    if way in MODULES:
        pytest.importorskip(MODULES[way], reason=f"{MODULES[way]} is not installed")
    entries = [entry for entry in corpus.entries if not entry.expect_failure][::STEP]
    names = {(entry.file, entry.name) for entry in entries}
    found = {
        example.name: outcome(example, way, tmp_path)
        for example in corpus.examples(lambda entry: (entry.file, entry.name) in names)
    }
    assert not {name: each.reason for name, each in found.items() if each.kind == "wrong"}
    assert Counter(each.kind for each in found.values())["passed"] > len(found) // 2


REFUSED = {"FILL", "LOG_SOFTMAX", "RSQRT"}
"""Operations whose first examples the importer refuses or the exporter cannot know, although they have rules."""


@pytest.mark.parametrize("family", FAMILIES)
def test_first_examples_are_read_again(family: str, corpus: Corpus, tmp_path: Path) -> None:
    """Each rule of the exporter runs."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    for example in load_first(corpus, family):
        found = outcome(example, "nnapi, .onnx", tmp_path)
        assert found.kind != "wrong", f"{example.name}: {found.reason}"
        if found.kind == "refused" and example.operations[0] not in REFUSED:
            assert found.reason.endswith("the ONNX exporter has no rule for it"), example.name


@pytest.mark.parametrize(
    "name", ["while_sum_of_powers_quant8_n_2", "while_sum_of_powers_quant8_signed_n_2", "abs", "neg"]
)
def test_onnx_files_are_read_again(name: str, corpus: Corpus, tmp_path: Path) -> None:
    """Loops of bytes whose scale is said within the body alone, and tensors of rank 5."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    (example,) = corpus.examples(lambda entry: entry.name == name)
    assert outcome(example, "nnapi, .onnx", tmp_path).kind == "passed"


NETWORKS = {"tflm_hello_world_float": "e-0", "tflm_mnist_lstm_int8": "equal", "tiny_vww_96_int8": "equal"}
"""Small networks, and the outcome of their files: floats that differ by millionths, or equal quantized values."""


@pytest.mark.shared
@pytest.mark.engine
@pytest.mark.parametrize(("name", "count"), {"tflm_hello_world_int8": 3, "tiny_ad01_int8": 10}.items())
def test_operations_of_quantized_networks_compute_the_same_as_files(
    name: str, count: int, shared: Path, tmp_path: Path
) -> None:
    """Within one code; benchmarks/exported_operations.py tries larger networks."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    found = list(run_operations(shared / "models" / f"{name}.tflite", "ONNX Runtime", tmp_path))
    assert [each.kind for _, each in found] == ["passed"] * count


@pytest.mark.slow
@pytest.mark.shared
@pytest.mark.engine
@pytest.mark.parametrize("way", ENGINES)
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_compute_the_same_as_files(name: str, way: str, shared: Path, tmp_path: Path) -> None:
    pytest.importorskip(ENGINES[way], reason=f"{ENGINES[way]} is not installed")
    found = run_network(shared / "models" / f"{name}.tflite", way, tmp_path)
    if (name, way) == ("tflm_mnist_lstm_int8", "ONNX Runtime"):
        assert found.kind == "refused"
        assert "QUANTIZED_LSTM" in found.reason
    else:
        assert found.kind == "passed"
        assert NETWORKS[name] in found.reason
