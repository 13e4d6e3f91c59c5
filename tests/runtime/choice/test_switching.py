"""The interpreter's switch interval while a challenger is prepared."""

import sys
from collections.abc import Iterator

import pytest

import nnapi
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.runtime.choice.switching import SWITCH
from tests.runtime.choice.trial_cases import Fake, Machine


@pytest.fixture(name="interval")
def restore_interval() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("interval")
@pytest.mark.parametrize(("usual", "during"), [(0.005, SWITCH), (0.0001, 0.0001)])
def test_runs_get_the_interpreter_soon_while_a_challenger_is_prepared(
    usual: float, during: float, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[float] = []

    def prepare(model: nnapi.Model, options: PrepareOptions) -> Prepared:
        found.append(sys.getswitchinterval())
        return Fake.prepare(machine.second, model, options)

    sys.setswitchinterval(usual)
    before = sys.getswitchinterval()
    monkeypatch.setattr(machine.second, "prepare", prepare)
    machine.begin(machine.compile())
    assert found == [pytest.approx(during, abs=2e-6)]
    assert sys.getswitchinterval() == before


@pytest.mark.usefixtures("interval")
def test_an_interval_that_the_program_sets_meanwhile_stays(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def prepare(model: nnapi.Model, options: PrepareOptions) -> Prepared:
        sys.setswitchinterval(0.01)
        return Fake.prepare(machine.second, model, options)

    monkeypatch.setattr(machine.second, "prepare", prepare)
    machine.begin(machine.compile())
    assert sys.getswitchinterval() == pytest.approx(0.01, rel=0.01)
