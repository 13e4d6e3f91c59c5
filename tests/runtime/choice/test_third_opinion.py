"""A challenger that differs from the active plan is excluded only if the reference agrees less with it."""

from unittest.mock import Mock

import numpy as np
import pytest

from nnapi.errors import BadDataError
from nnapi.model.operand import Array
from nnapi.runtime.choice import third_opinion
from nnapi.runtime.choice.third_opinion import find_fault
from tests.runtime.choice.trial_cases import EXPECTED, MODEL, X


def off_by(factor: float) -> list[Array]:
    return [EXPECTED * np.float32(1 + factor)]


@pytest.mark.parametrize(
    ("active", "challenger", "fault"),
    [
        (0.0, 0.0, None),
        (0.0, 0.1, "20.0 dB (at least 50 dB are expected)"),
        (0.1, 0.0, None),
        (0.1, -0.1, None),
        (0.1, -0.13, None),
        (0.1, 0.2, "14.0 dB (at least 17 dB are expected)"),
        (1e-4, 1e-1, "20.0 dB (at least 50 dB are expected)"),
    ],
)
def test_a_challenger_may_be_about_as_far_from_the_reference_as_the_active_plan(
    active: float, challenger: float, fault: str | None
) -> None:
    found = find_fault(MODEL, [X], off_by(active), off_by(challenger))
    assert found is None if fault is None else found is not None and found.endswith(fault)


def test_nan_is_a_fault_however_far_the_active_plan_is_from_the_reference() -> None:
    broken = np.full_like(EXPECTED, np.nan)
    assert "infinite or NaN" in str(find_fault(MODEL, [X], off_by(5.0), [broken]))


def test_if_the_reference_refuses_the_model_the_active_plan_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = Mock(driver=Mock(prepare=Mock(side_effect=BadDataError("an extension's operation"))))
    monkeypatch.setattr(third_opinion, "device", lambda name: refusing)
    assert "14.0 dB" in str(find_fault(MODEL, [X], off_by(0.0), off_by(0.2)))
    assert "15.6 dB" in str(find_fault(MODEL, [X], off_by(0.2), off_by(0.0)))
