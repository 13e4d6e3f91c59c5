"""A process of its own for each device."""

import os
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nnapi.contract.driver import PrepareOptions
from nnapi.drivers.reference import ReferenceDriver
from nnapi.model.model import Model
from nnapi.runtime.device import Device, device
from nnapi.testing.build import run_example
from nnapi.testing.example import Example
from nnapi.testing.random.child import Child
from nnapi.testing.random.judging import Outcome
from nnapi.testing.random.session import replayable
from tests.testing.testing_cases import add


class Deadly(Example):
    """Kills the process that unpacks it, as an engine might."""

    def __reduce__(self) -> Any:
        return os.abort, ()


class Endless(Example):
    def __reduce__(self) -> Any:
        return time.sleep, (600,)


def like(kind: type[Example]) -> Example:
    return kind(**{name: getattr(add(), name) for name in ("name", "main", "inputs", "outputs")})


@pytest.mark.slow
def test_the_end_of_the_process_is_a_failure_and_the_next_goes_on() -> None:
    with Child("nnapi-reference") as child:
        judgement = child.judge(like(Deadly))
        assert judgement.outcome == Outcome.FAILED
        assert "SIGABRT" in judgement.reason
        assert judgement.operation == "ADD"
        assert child.judge(add()).outcome == Outcome.AGREED


def test_no_answer_in_time_is_a_failure() -> None:
    with Child("nnapi-reference", patience=0.5) as child:
        judgement = child.judge(like(Endless))
    assert judgement.outcome == Outcome.FAILED
    assert "no answer within 0.5 s" in judgement.reason


class Aborting(ReferenceDriver):
    """Ends the process where an engine would compute."""

    def prepare(self, model: Model, options: PrepareOptions) -> Any:
        os.abort()


def find_aborting(name: str) -> Device:
    return Device(Aborting())


@pytest.mark.slow
def test_a_failure_of_a_process_that_ended_has_the_right_outputs() -> None:
    with Child("aborting", find=find_aborting) as child:
        judgement = child.judge(add())
    assert "SIGABRT" in judgement.reason
    assert judgement.example is not None
    (right,) = run_example(add(), device("nnapi-reference"))
    (written,) = judgement.example.outputs.values()
    np.testing.assert_array_equal(written, right)


def test_outputs_that_nobody_knows_are_ignored() -> None:
    again = replayable(replace(add(), outputs={}))
    (output,) = again.main.outputs
    assert again.main.operands[output].is_ignored
    assert not add().main.operands[output].is_ignored


def find_reference(name: str) -> Device:
    return device("nnapi-reference")


def test_the_device_may_be_found_in_another_way() -> None:
    with Child("another name", find=find_reference) as child:
        assert child.judge(add()).outcome == Outcome.AGREED
