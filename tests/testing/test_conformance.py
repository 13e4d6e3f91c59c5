"""The conformance run: what it runs, in which order, and what it makes of what happens."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nnapi.errors import UnavailableDeviceError
from nnapi.testing.conformance import ExampleSuite, check, match_name, run
from nnapi.testing.corpus import Corpus, Entry, write
from nnapi.testing.suite.pipeline import Plan
from nnapi.testing.suite.pipeline import run as run_suite
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.variants import Setting, Skip, Variant
from tests.testing.testing_cases import EVERYTHING, REFERENCE, add, relu, spoilt

WRONG = add(name="wrong", outputs={3: np.array([11, 23], np.float32)})


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    (tmp_path / "V1_0").mkdir()
    write(tmp_path / "V1_0/add.npz", [add(), WRONG])
    write(tmp_path / "V1_0/relu.npz", [relu()])
    return Corpus(tmp_path)


def said(results: list[Result]) -> list[tuple[str, str, str]]:
    return [(result.example, result.variant, str(result.status)) for result in results]


def test_every_variant_that_applies_gives_a_result(corpus: Corpus) -> None:
    results = list(run(corpus, [REFERENCE], ["signed", "plain", "compliance"]))
    assert said(results) == [
        ("add", "plain", "passed"),
        ("add", "compliance", "passed"),
        ("wrong", "plain", "failed"),
        ("wrong", "compliance", "passed"),
        ("relu", "signed", "passed"),
        ("relu", "plain", "passed"),
        ("relu", "compliance", "passed"),
    ]
    failed = results[2]
    assert "[1] is 22, expected 23" in failed.reason
    assert (failed.file, failed.operations) == ("V1_0/add.npz", ("ADD",))
    assert all(result.seconds > 0 for result in results)


def test_results_come_one_by_one(corpus: Corpus) -> None:
    (corpus.root / "V1_0/relu.npz").write_bytes(b"broken")
    names = Corpus(corpus.root / "V1_0/add.npz")
    assert next(run(names, [REFERENCE], ["plain"])).example == "add"


def test_a_filter_chooses_examples(corpus: Corpus) -> None:
    assert said(list(run(corpus, [REFERENCE], ["plain"], match_name("relu")))) == [("relu", "plain", "passed")]


def test_devices_may_be_named_given_or_left_to_the_runtime(corpus: Corpus) -> None:
    for devices in (["nnapi-reference"], [REFERENCE], None):
        assert said(list(run(corpus, devices, ["plain"], match_name("relu")))) == [("relu", "plain", "passed")]
    assert said(list(run(corpus, [spoilt(50)], ["plain"], match_name("relu")))) == [("relu", "plain", "failed")]


@pytest.mark.slow
def test_processes_give_the_same_results(corpus: Corpus) -> None:
    here = list(run(corpus, ["nnapi-reference"], ["plain", "signed"]))
    suite = ExampleSuite(corpus, corpus.entries, ("plain", "signed"), ("nnapi-reference",), batch=1)
    apart = [result for _, results in run_suite(suite, Plan(), jobs=2) for result in results]
    assert sorted(said(apart)) == sorted(said(here))
    assert {(each.operations, each.type) for each in apart} == {
        (("ADD",), "TENSOR_FLOAT32"),
        (("RELU",), "TENSOR_QUANT8_ASYMM"),
        (("RELU",), "TENSOR_QUANT8_ASYMM_SIGNED"),
    }


def test_mistakes_are_raised_before_anything_runs(corpus: Corpus) -> None:
    with pytest.raises(KeyError, match="plane"):
        run(corpus, None, ["plane"])
    with pytest.raises(UnavailableDeviceError, match="no device 'mars'"):
        run(corpus, ["mars"], ["plain"])


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("add", {"add", "add_relu"}),
        ("add*", {"add", "add_relu"}),
        ("add?", set()),
        ("*[ux]", {"add_relu", "relu"}),
        ("ADD", {"add", "sub"}),
        ("RELU", {"relu"}),
        ("elu", {"add_relu", "relu"}),
    ],
)
def test_patterns(pattern: str, found: set[str]) -> None:
    entries = [
        Entry("", "add", ("ADD",)),
        Entry("", "add_relu", ()),
        Entry("", "relu", ("RELU",)),
        Entry("", "sub", ("ADD",)),
    ]
    assert {entry.name for entry in entries if match_name(pattern)(entry)} == found


def test_an_operation_that_only_copies_inputs_is_not_tested() -> None:
    """Most of Android's examples have a version that copies its inputs by ADD."""
    entries = [
        Entry("", "add_all_inputs_as_internal", ("ADD",)),
        Entry("", "relu_all_inputs_as_internal_2", ("ADD", "RELU")),
        Entry("", "if_add", ("ADD", "IF")),
    ]
    chosen = [[entry.name for entry in entries if match_name(name)(entry)] for name in ("ADD", "RELU")]
    assert chosen == [["add_all_inputs_as_internal", "if_add"], ["relu_all_inputs_as_internal_2"]]


def outcome(error: Exception) -> Result:
    def fails(example: object, setting: object) -> None:
        raise error

    return check(replace(add(), harness=EVERYTHING), Variant("own", lambda harness: True, fails), Setting())


def test_whatever_is_raised_is_part_of_the_result() -> None:
    skipped = outcome(Skip("no such thing"))
    assert (skipped.status, skipped.reason) == (Status.SKIPPED, "no such thing")
    failed = outcome(ZeroDivisionError("by 0"))
    assert (failed.status, failed.reason) == (Status.FAILED, "ZeroDivisionError: by 0")
