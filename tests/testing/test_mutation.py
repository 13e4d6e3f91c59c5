"""Examples made of examples."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from nnapi.testing.conformance import Status, check
from nnapi.testing.corpus import Corpus
from nnapi.testing.example import Example
from nnapi.testing.fuzz import NoCall
from nnapi.testing.mutation import mutate, with_other_data, with_other_dimensions, with_other_types, with_shuffled_data
from nnapi.testing.variants import VARIANTS, Setting
from tests.testing.testing_cases import REFERENCE, add, constant, endless, relu

HERE = Setting((REFERENCE,))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_mutations_pass_and_differ_from_their_example() -> None:
    for seed in range(10):
        relative = mutate(relu(), rng(seed), REFERENCE)
        assert check(relative, VARIANTS["plain"], HERE).status == Status.PASSED
        assert relative.inputs[0].tolist() != relu().inputs[0].tolist()


def test_a_seed_gives_the_same_relative() -> None:
    first, again, other = (mutate(relu(), rng(seed), REFERENCE) for seed in (3, 3, 4))
    assert first.inputs[0].tolist() == again.inputs[0].tolist()
    assert first.inputs[0].tolist() != other.inputs[0].tolist()


def test_mutations_change_dimensions_and_types() -> None:
    relatives = [mutate(relu(), rng(seed), REFERENCE) for seed in range(10)]
    assert len({relative.main.operands[0].dimensions for relative in relatives}) > 2
    assert {relative.main.operands[0].type for relative in relatives} == {
        "TENSOR_QUANT8_ASYMM",
        "TENSOR_QUANT8_ASYMM_SIGNED",
    }


def test_data_stay_in_the_range_of_the_old() -> None:
    changed = with_other_data(add(inputs={0: np.array([-1, 3], np.float32)}), rng())
    assert changed.inputs[0].dtype == np.float32
    assert changed.inputs[0].tolist() != [-1, 3]
    assert np.abs(changed.inputs[0] - 1).max() <= 2
    indices = with_other_data(add(inputs={0: np.array([2, 70, 2, 5], np.int32)}), rng())
    assert set(indices.inputs[0].tolist()) <= {2, 5, 70}
    truths = with_other_data(endless(), rng()).inputs[2]
    assert truths.dtype == np.bool_


def test_values_that_are_no_numbers_set_no_range() -> None:
    odd = add(inputs={0: np.array([np.nan, np.inf], np.float32)})
    assert with_other_data(odd, rng()).inputs[0].tolist()[1] == np.inf


def test_shuffling_keeps_rows_together() -> None:
    rows = np.arange(20, dtype=np.float32).reshape(10, 2)
    shuffled = with_shuffled_data(add(inputs={0: rows}), rng()).inputs[0]
    assert shuffled.tolist() != rows.tolist()
    assert sorted(shuffled.tolist()) == rows.tolist()


def test_dimensions_change_wherever_they_occur() -> None:
    changed = with_other_dimensions(add(), rng())
    (dimension,) = changed.main.operands[0].dimensions
    assert dimension != 2
    assert changed.main.operands[1].data.shape == changed.inputs[0].shape == (dimension,)
    assert changed.main.operands[3].dimensions == (0,)


def test_floats_become_halves() -> None:
    changed = with_other_types(add(), rng())
    assert [operand.type for operand in changed.main.operands] == [
        "TENSOR_FLOAT16",
        "TENSOR_FLOAT16",
        "INT32",
        "TENSOR_FLOAT16",
    ]
    assert changed.inputs[0].dtype == changed.main.operands[1].data.dtype == np.float16
    assert changed.tolerance.float == "fp16"


def test_what_is_wrong_on_purpose_has_no_relatives() -> None:
    with pytest.raises(NoCall, match="endless is wrong on purpose"):
        mutate(endless(), rng(), REFERENCE)
    with pytest.raises(NoCall, match="add: ADD"):
        mutate(misfit(), rng(), REFERENCE)


def misfit() -> Example:
    """[7, 5] + [3, 3, 3], which do not broadcast however one dimension changes."""
    x, y, *others = add().main.operands
    operands = (replace(x, dimensions=(7, 5)), constant(y.type, np.ones((3, 3, 3), np.float32)), *others)
    return add(main=replace(add().main, operands=operands), inputs={0: np.ones((7, 5), np.float32)})


def test_published_examples_have_relatives(corpus: Corpus) -> None:
    chosen = set([entry for entry in corpus.entries if not entry.expect_failure][::80])
    changes: Counter[str] = Counter()
    for example in corpus.examples(chosen.__contains__):
        relative = mutate(example, rng(1), REFERENCE)
        result = check(relative, VARIANTS["plain"], HERE)
        assert result.status == Status.PASSED, (example.name, result.reason)
        dimensions = [[operand.dimensions for operand in each.main.operands] for each in (example, relative)]
        changes["resized"] += dimensions[0] != dimensions[1]
        changes["retyped"] += example.types != relative.types
    assert changes["resized"] > len(chosen) / 2
    assert changes["retyped"] > 0
