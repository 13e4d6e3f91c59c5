"""Records: what they hold, and what is not taken for one."""

from typing import Any

import pytest

from nnapi.contract.driver import PrepareOptions
from nnapi.runtime.choice.knowledge import Fixed, Measured, Predicted, Unknown, keep, recall
from nnapi.runtime.choice.question import Question
from nnapi.runtime.choice.record import MEASURED, Comparison, Record, parse
from nnapi.store.directories import RecordKind
from nnapi.store.records import forget_record
from tests.runtime.choice.trial_cases import Machine, network

RECORD = Record(
    MEASURED, "first", "", "", 2, 1, 1e-3, 2e-3, [Comparison("everything on second", 3e-3, [0.1], "slower")]
)


def question(machine: Machine, **options: Any) -> Question:
    return Question(network(), machine.devices, PrepareOptions(**options))


def test_a_record_is_recalled_by_the_same_question(machine: Machine) -> None:
    asked = question(machine)
    keep(asked, asked.key, RECORD)
    assert recall(asked) == Measured(RECORD)
    assert recall(question(machine, threads=2)) == Unknown()
    assert recall(Question(asked.model, machine.devices[::-1], asked.options)) == Unknown()
    keep(asked, asked.key, RECORD._replace(state="predicted"))
    assert isinstance(recall(asked), Predicted)
    keep(asked, asked.key, RECORD._replace(state="tiny"))
    assert isinstance(recall(asked), Fixed)
    forget_record(RecordKind.PLANS, asked.key)
    assert recall(asked) == Unknown()


@pytest.mark.parametrize(
    "change",
    [{"state": "settled"}, {"predicted": "1"}, {"seconds": "1"}, {"comparisons": [["a", 1.0, ["x"], "slower", ""]]}],
)
def test_anything_else_is_not_a_record(change: dict[str, Any]) -> None:
    assert parse(RECORD._asdict()) == RECORD
    with pytest.raises((ValueError, TypeError)):
        parse(RECORD._asdict() | change)
    with pytest.raises(KeyError):
        parse({"state": MEASURED})


def test_reasons_why_nothing_is_to_be_decided(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert recall(Question(network(), machine.devices[:1], PrepareOptions())) == Fixed("there is one device")
    monkeypatch.setenv("NNAPI_TUNING", "0")
    assert recall(question(machine)) == Fixed("tuning is off")
