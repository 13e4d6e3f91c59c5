"""Variants that a driver has of a model: each is a plan of its own."""

from nnapi import Device, device
from nnapi.codes import PreferenceCode
from nnapi.drivers.limited import Limited
from nnapi.model.model import Model
from nnapi.runtime.planning.planner import make_plans
from nnapi.runtime.planning.survey import Survey
from tests.runtime.choice.trial_cases import network
from tests.runtime.device_cases import capabilities


class Shaping(Limited):
    """The reference with a variant of every model."""

    def list_variants(self, model: Model) -> list[str]:
        return ["upside down"]

    def predict_variant(self, model: Model) -> str:
        return ""


def test_plans_that_are_not_compared_have_the_usual_variant() -> None:
    reference = device("nnapi-reference")
    devices = [Device(Shaping(reference.driver, "shaping", declared=capabilities())), reference]
    survey = Survey(network(), devices, PreferenceCode.PREFER_FAST_SINGLE_ANSWER)
    (only,) = make_plans(survey, compared=False)
    assert only.variant == ""
    assert [plan.variant for plan in make_plans(survey)] == ["", "upside down", ""]
