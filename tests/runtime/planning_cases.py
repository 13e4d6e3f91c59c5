"""The best plan for a model on some devices."""

from collections.abc import Sequence

from nnapi import Device, Model, PreferenceCode
from nnapi.runtime.costs.prices import Tables
from nnapi.runtime.planning.device_answers import DeviceAnswers, Exclusions
from nnapi.runtime.planning.plan import Plan
from nnapi.runtime.planning.planner import make_plans


def make_plan(
    model: Model,
    devices: Sequence[Device],
    preference: PreferenceCode,
    exclusions: Exclusions | None = None,
    tables: Tables | None = None,
) -> Plan:
    answers = DeviceAnswers(model, devices, preference, exclusions, tables, is_no_choice=len(devices) == 1)
    return make_plans(answers, compared=False)[0]
