"""Trials of Winograd variants, with close agreement for F(4,3) in both dimensions."""

from collections.abc import Sequence

import pytest

from nnapi import Device, compile
from nnapi.contract.driver import Outcome, Prepared, PrepareOptions, Request
from nnapi.contract.winograd import FORCED, IN_BOTH, PLAIN
from nnapi.drivers.limited import Limited, Refuses
from nnapi.model.model import Model
from nnapi.model.precision import Precision
from nnapi.runtime.choice.predict import list_plans
from nnapi.runtime.choice.question import Question
from nnapi.runtime.settings import Winograd, settings
from tests.runtime.choice.trial_cases import Fake, Machine, has_trial, network
from tests.runtime.device_cases import Scripted, as_it_is, chain


class Filtering(Fake):
    """A fake with Winograd variants, of which F(4,3) in both dimensions is off by a factor."""

    off = 1.0

    def list_variants(self, model: Model) -> Sequence[str]:
        return [*self.predict_savings(model)]

    def predict_savings(self, model: Model) -> dict[str, float]:
        return {PLAIN: 1e-4, IN_BOTH: 2e-4}

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.given = options.variant
        return _Off(super().prepare(model, options), self.off if options.variant == IN_BOTH else 1.0)


class _Off:
    def __init__(self, inner: Prepared, factor: float) -> None:
        self._inner, self._factor = inner, factor

    def execute(self, request: Request) -> Outcome:
        outcome = self._inner.execute(request)
        return outcome._replace(outputs=[each * each.dtype.type(self._factor) for each in outcome.outputs])

    def close(self) -> None:
        self._inner.close()


@pytest.fixture
def filtering(machine: Machine) -> Filtering:
    driver = Filtering(machine.clock, "first", 1e-3, 0.01)
    driver.times = {PLAIN: 0.8e-3, IN_BOTH: 0.5e-3}
    machine.first, machine.devices = driver, [Device(driver), machine.devices[1]]
    machine.second.seconds = 5e-3
    return driver


@pytest.mark.parametrize(("off", "winner"), [(1 + 3e-6, IN_BOTH), (1 + 3e-5, PLAIN)])
def test_f43_in_both_dimensions_wins_only_if_it_agrees_closely(
    machine: Machine, filtering: Filtering, off: float, winner: str
) -> None:
    """The results agree to far more than 50 dB in both cases."""
    filtering.off = off
    compilation = machine.compile()
    machine.begin(compilation)
    machine.use(compilation, 200)
    assert compilation.plan.variant == winner
    if winner is PLAIN:
        assert any("of its largest value" in note for note in compilation.plan.notes)


def test_a_model_that_permits_float16_needs_no_close_agreement(machine: Machine, filtering: Filtering) -> None:
    filtering.off = 1 + 3e-5
    compilation = machine.compile(network().with_precision(Precision.FLOAT16))
    machine.begin(compilation)
    machine.use(compilation, 200)
    assert compilation.plan.variant == IN_BOTH


def test_the_predicted_time_of_a_variant_is_shorter(
    machine: Machine, filtering: Filtering, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the seconds that it saves on each thread, but at most by a factor of 4."""
    asked = Question(network(), machine.devices, PrepareOptions())
    direct = list_plans(asked, 2)[0].predicted
    monkeypatch.setattr(filtering, "predict_savings", lambda model: {PLAIN: direct, IN_BOTH: 10 * direct})
    plans = list_plans(asked, 2)
    assert [each.variant for each in plans] == ["", PLAIN, IN_BOTH, ""]
    assert [each.predicted for each in plans[:3]] == pytest.approx([direct, direct / 2, direct / 4])


def test_one_setting_forbids_all_variants(machine: Machine, filtering: Filtering) -> None:
    with settings(winograd=Winograd.NEVER):
        plans = list_plans(Question(network(), machine.devices, PrepareOptions()), 1)
        assert [each.variant for each in plans] == ["", ""]


def test_a_forced_variant_is_used_without_a_trial(machine: Machine, filtering: Filtering) -> None:
    for setting, variant in ((Winograd.FORCED, FORCED), (Winograd.PREDICTED, PLAIN)):
        with settings(winograd=setting):
            compilation = machine.compile()
        assert not has_trial(compilation)
        assert filtering.given == compilation.plan.variant == variant
        assert variant in compilation.explain()


def test_a_forced_variant_reaches_every_partition() -> None:
    def take(name: str) -> Refuses:
        return lambda model, call: None if call.name == name else "no"

    inner = Scripted(as_it_is)
    devices = [Device(Limited(inner, name, take(name))) for name in ("ABS", "NEG")]
    with settings(winograd=Winograd.FORCED):
        plan = compile(chain(2), devices).plan
    assert plan.devices == ("ABS", "NEG")
    assert [options.variant for options in inner.options] == [FORCED, FORCED]
