"""Models that refer to models, deeper than calls of Python go."""

import pytest

from nnapi.model.nesting import depths, inner_first, list_nested, paths
from tests.nest_cases import DEEP, nest


def test_each_is_found_once_and_after_what_it_refers_to() -> None:
    references = {1: [2, 3], 2: [4], 3: [4, 2], 4: []}
    assert inner_first(1, references.__getitem__) == [4, 2, 3, 1]


def test_circles_are_cut() -> None:
    assert inner_first(1, {1: [2], 2: [3], 3: [1]}.__getitem__) == [3, 2, 1]


def test_a_nest_is_counted() -> None:
    model = nest(3)
    assert [each.name for each in list_nested(model)][-1] == model.name
    assert len(list_nested(model)) == 5
    assert depths(model)[model] == 3


@pytest.mark.slow
def test_a_deep_nest_tells_its_level_and_why() -> None:
    model = nest(DEEP)
    assert model.feature_level == 4
    reasons = [facet.reason for facet in model.facets]
    assert len(reasons) > DEEP
    assert max(map(len, reasons)) < 200


def test_a_nest_of_shared_models_is_looked_at_once() -> None:
    """Counted by paths there would be 2 to the power of the depth."""
    model = nest(200, is_shared=True)
    assert len(list_nested(model)) == 201
    assert len(model.facets) < 200 * 20
    model.need_mapped()


def test_only_both_ends_of_a_long_path_are_shown() -> None:
    step = "operand (3): MODEL → "
    shown = sorted({path for path in paths(nest(4)).values() if path.startswith(step)}, key=len)
    assert shown == [step, step * 2, f"{step}… → {step}"]
