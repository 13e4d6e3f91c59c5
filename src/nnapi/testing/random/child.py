"""Judge examples in a separate process, so that a crash or a hang counts as a failure of the example."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from nnapi.runtime.device import Device, device
from nnapi.testing.example import Example
from nnapi.testing.random.judging import Judgement, Outcome, add_expected, judge
from nnapi.testing.suite.worker import PATIENCE, Perform, Worker, WorkerEndedError

Find = Callable[[str], Device]


class Child(Worker):
    """A process that judges examples on one device."""

    def __init__(self, name: str, *, special: bool = False, patience: float = PATIENCE, find: Find = device) -> None:
        """``find`` returns the device with this name; it is called in the process."""
        super().__init__(partial(_prepare, name, special, find), patience)

    def judge(self, example: Example) -> Judgement:
        """Judge an example. It is a failure if the process ends or does not answer in time."""
        try:
            judgement: Judgement = self.do((example, True))
        except WorkerEndedError as ended:
            return Judgement(Outcome.FAILED, ended.reason, _last(example), self._add_expected(example), ended.status)
        return judgement

    def _add_expected(self, example: Example) -> Example:
        """Return the example with the reference's outputs, without them if the reference ends the process too."""
        with suppress(WorkerEndedError):
            example = self.do((example, False))
        return example


def _last(example: Example) -> str:
    return example.main.operations[-1].type


def _prepare(name: str, special: bool, find: Find) -> Perform:
    device = find(name)

    def perform(task: tuple[Example, bool]) -> Judgement | Example:
        example, is_judged = task
        if not is_judged:
            return add_expected(example)
        try:
            return judge(example, device, special=special)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            return Judgement(Outcome.FAILED, said, _last(example), add_expected(example))

    return perform
