"""Control flow within control flow, deeper than calls of Python go."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import PreferenceCode
from nnapi.contract.driver import Capabilities, Performance
from nnapi.drivers.reference import ReferenceDriver
from nnapi.model.content_hash import hash_content
from nnapi.runtime.costs.prices import MOST, Prices
from nnapi.runtime.planning.plan import If, Plan
from nnapi.runtime.planning.planner import DIVIDED
from nnapi.testing.record import example_of
from tests.nest_cases import DEEP, nest
from tests.runtime.device_cases import ABS, NEG, REFERENCE, limited
from tests.runtime.planning_cases import make_plan

FAST = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
TRUE, FALSE = np.array([1], np.uint8), np.array([0], np.uint8)
X = np.array([-1, 2], np.float32)


@pytest.mark.slow
@pytest.mark.parametrize("devices", [None, "nnapi-reference"])
def test_a_deep_nest_is_compiled_and_run(devices: str | None, tmp_path: Path) -> None:
    compilation = nnapi.compile(nest(DEEP), devices, cache=tmp_path)
    assert compilation.run(TRUE, X)[0].tolist() == [1, 2]
    assert compilation.run(FALSE, X)[0].tolist() == [1, -2]
    assert "IF" in compilation.explain()


def test_what_fails_deep_inside_is_told_in_one_message() -> None:
    compilation = nnapi.compile(nest(DEEP), "nnapi-reference")
    with pytest.raises(nnapi.NnapiError, match="the condition is omitted") as caught:
        compilation.run(None, X)
    assert "\n" not in str(caught.value)


def depth(plan: Plan) -> int:
    """How deep plans lie in a plan."""
    return max(
        (1 + max(depth(step.then), depth(step.otherwise)) for step in plan.steps if isinstance(step, If)), default=0
    )


def test_control_flow_is_taken_apart_only_where_it_is_not_deep() -> None:
    fast = Performance(0.1, 0.1)
    devices = [limited("fast", [ABS, NEG], Capabilities(fast)), REFERENCE]
    assert depth(make_plan(nest(DIVIDED), devices, FAST)) == DIVIDED
    assert depth(make_plan(nest(DIVIDED + 1), devices, FAST)) == 0


def test_costs_of_a_nest_of_shared_models_are_finite() -> None:
    model = nest(DEEP, is_shared=True)
    seconds = Prices(ReferenceDriver().capabilities()).seconds(model, model.operations[0], FAST)
    assert 0 < seconds < 2 * MOST


@pytest.mark.slow
def test_deep_nests_that_differ_inside_have_different_digests() -> None:
    assert hash_content(nest(DEEP)) != hash_content(nest(DEEP, is_shared=True))


def test_a_deep_nest_becomes_an_example() -> None:
    assert len(example_of(nest(DEEP), "nest").referenced) == DEEP + 1
