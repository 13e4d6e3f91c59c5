"""Equivalent variants of a model have the same results."""

from dataclasses import replace

import numpy as np
import pytest

from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES
from nnapi.testing.example import Example
from nnapi.testing.random import judging
from nnapi.testing.random.calls import random_call
from nnapi.testing.random.equivalents import (
    REWRITES,
    equivalent_variants,
    with_explicit_padding,
    with_other_layouts,
    with_separate_activations,
)
from nnapi.testing.random.judging import Outcome, judge
from tests.testing.testing_cases import REFERENCE


def calls(code: str, count: int = 25) -> list[Example]:
    return [random_call(REGISTRY[CODES[code]], np.random.default_rng([seed, 5])) for seed in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("code", ["CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "GROUPED_CONV_2D"])
def test_what_is_said_otherwise_means_the_same(code: str) -> None:
    drawn = calls(code)
    said = {what: sum(rewrite(example) is not None for example in drawn) for what, rewrite in REWRITES.items()}
    assert min(said.values()) > 2, said
    assert {(j.outcome, j.reason) for j in (judge(example, REFERENCE) for example in drawn)} == {(Outcome.AGREED, "")}


def test_an_activation_follows() -> None:
    found = [other for example in calls("ADD") if (other := with_separate_activations(example))]
    assert {other.main.operations[1].type for other in found} == {"RELU", "RELU1", "RELU6"}
    assert all(other.main.operations[1].outputs == other.main.outputs for other in found)


def test_the_other_layout_is_between_transpositions() -> None:
    found = [other for example in calls("RESIZE_BILINEAR") if (other := with_other_layouts(example))]
    assert {tuple(o.type for o in other.main.operations) for other in found} == {
        ("TRANSPOSE", "RESIZE_BILINEAR", "TRANSPOSE")
    }


def test_padding_is_counted() -> None:
    found = [(e, other) for e in calls("MAX_POOL_2D") if (other := with_explicit_padding(e))]
    assert found
    assert all(len(o.main.operations[0].inputs) == len(e.main.operations[0].inputs) + 3 for e, o in found)


def test_what_has_no_other_words_is_left() -> None:
    assert [rewrite(calls("RELU", 1)[0]) for rewrite in REWRITES.values()] == [None] * len(REWRITES)


@pytest.mark.parametrize("code", ["RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "TRANSPOSE_CONV_2D"])
def test_what_only_looks_alike_is_not_confused(code: str) -> None:
    """Cells apply their activation at each step; the dimensions of a result are given in its layout."""
    outcomes = {(j.outcome, j.reason) for j in (judge(example, REFERENCE) for example in calls(code, 10))}
    assert outcomes == {(Outcome.AGREED, "")}


def test_inputs_may_have_open_dimensions() -> None:
    (form,) = [
        other for what, other in equivalent_variants(calls("RELU", 1)[0]) if "inputs of unspecified dimensions" in what
    ]
    assert set(form.main.operands[form.main.inputs[0]].dimensions) == {0}


def test_a_form_with_another_result_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """Activations that do not follow are missed."""

    def forgetful(example: Example) -> Example:
        main = with_separate_activations(example).main
        first = replace(main.operations[0], outputs=main.outputs)
        return replace(example, main=replace(main, operations=(first,)))

    monkeypatch.setattr(judging, "equivalent_variants", lambda example: [("forgetfully", forgetful(example))])
    outcomes = {judge(e, REFERENCE).outcome for e in calls("SUB") if with_separate_activations(e)}
    assert Outcome.FAILED in outcomes


def test_windows_of_a_filter_of_open_dimensions_are_not_counted() -> None:
    found = [e for e in calls("CONV_2D") if with_explicit_padding(e)]
    for example in found:
        filter = example.main.operations[0].inputs[1]
        operands = list(example.main.operands)
        operands[filter] = replace(operands[filter], dimensions=(0, 0, 0, 0))
        assert with_explicit_padding(replace(example, main=replace(example.main, operands=tuple(operands)))) is None
    assert found
