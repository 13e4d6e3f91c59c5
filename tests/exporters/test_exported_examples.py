"""A part of the public examples as files: nothing that is written means something else."""

from collections import Counter
from pathlib import Path

import pytest

from nnapi.testing.corpus import Corpus
from tests.exporters.exported_cases import WAYS, outcome

STEP = 211
"""Every so manieth example is tried; benchmarks/exported.py tries all."""
MODULES = {"LiteRT": "ai_edge_litert", "ONNX Runtime": "onnxruntime"}


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[pytest.mark.engine] if way in MODULES else []) for way in WAYS]
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
