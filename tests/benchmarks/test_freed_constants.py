"""The benchmark of freed constants compares the two devices that it names."""

import pytest

from benchmarks.freed_constants import force_plans
from nnapi import Device
from nnapi.contract.driver import PrepareOptions
from nnapi.runtime.choice import predict, preparation
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.spare import Spare
from nnapi.runtime.settings import Partitioning
from tests.graphs import finished_sum
from tests.runtime.choice.trial_cases import Clock, Fake


def test_one_device_is_active_and_the_other_challenges(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("predict_plan", "list_challengers"):
        monkeypatch.setattr(predict, name, getattr(predict, name))  # restored after the test
    devices = [Device(Fake(Clock(), name, 1.0, 1.0)) for name in ("first", "second")]
    force_plans("second", "first")
    question = Question(finished_sum(), devices, PrepareOptions())
    ready, _ = preparation.prepare(question, Spare(question, Partitioning.WITHOUT_FALLBACK))
    assert ready.plan.devices == ("second",)
    assert [plan.devices for plan in predict.list_challengers(question, 1, ())] == [("first",)]
