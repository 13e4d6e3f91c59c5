"""The reference's opinion on a challenger whose results differ from the active plan's."""

from collections.abc import Sequence

from nnapi.drivers.base import PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.choice.judge import find_difference, find_tolerance, measure_agreement
from nnapi.runtime.device import REFERENCE, device
from nnapi.trace import mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

SLACK = 3.0
"""Decibels by which a challenger may be farther from the reference than the active plan is."""


def find_fault(
    model: Model, inputs: Sequence[Array | None], expected: Sequence[Array], found: Sequence[Array]
) -> str | None:
    """Describe a difference between the active plan's results and a challenger's that is the challenger's fault.

    Some networks amplify rounding errors beyond any tolerance. So two plans that differ are compared with the
    reference, and a challenger that is about as near to it as the active plan has no fault.
    """
    difference = find_difference(model, expected, found)
    right = _run_reference(model, inputs) if difference else None
    if right is None:
        return difference
    agreement = measure_agreement(model, right, expected)
    log.info("%s: the active plan's results are %.1f dB from the reference's", model.name, agreement)
    return find_difference(model, right, found, min(find_tolerance(model), agreement - SLACK))


def _run_reference(model: Model, inputs: Sequence[Array | None]) -> Sequence[Array] | None:
    """Return the reference's results; None if it refuses the model."""
    try:
        with mute():
            return device(REFERENCE).driver.prepare(model, PrepareOptions()).execute(Request(inputs)).outputs
    except NnapiError as error:
        log.info("%s: the reference has no results: %s", model.name, error)
        return None
