"""Comparison of a challenger with the reference, if its results differ from the active plan's."""

from collections.abc import Sequence

from nnapi.contract.driver import PrepareOptions, Request
from nnapi.errors import NnapiError
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.choice.judge import find_difference, find_tolerance, measure_agreement
from nnapi.runtime.device import REFERENCE, device
from nnapi.trace import mute
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

SLACK = 3.0
"""Decibels by which a challenger may agree less with the reference than the active plan does."""


def find_fault(
    model: Model, inputs: Sequence[Array | None], expected: Sequence[Array], found: Sequence[Array]
) -> str | None:
    """Describe how a challenger's results ``found`` are wrong; None if they are acceptable.

    Some networks amplify rounding errors beyond any tolerance. Plans that differ are therefore compared with the
    reference. A challenger that agrees with it about as well as the active plan is acceptable.
    """
    difference = find_difference(model, expected, found)
    right = _run_reference(model, inputs) if difference else None
    if right is None:
        return difference
    agreement = measure_agreement(model, right, expected)
    log.info("%s: the active plan's results are %.1f dB from the reference's", model.name, agreement)
    return find_difference(model, right, found, min(find_tolerance(model), agreement - SLACK))


def _run_reference(model: Model, inputs: Sequence[Array | None]) -> Sequence[Array] | None:
    """Return the reference's results; None if it cannot run the model."""
    try:
        with mute():
            return device(REFERENCE).driver.prepare(model, PrepareOptions(threads=1)).execute(Request(inputs)).outputs
    except NnapiError as error:
        log.info("%s: nnapi-reference cannot run it: %s", model.name, error)
        return None
