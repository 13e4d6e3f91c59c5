"""The CPU as a spare for the other devices of a question: it repeats preparations and runs that fail on them."""

from collections.abc import Sequence, Set

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Prepared, PrepareOptions
from nnapi.contract.handles import Openable
from nnapi.errors import need_value
from nnapi.model.model import Model
from nnapi.model.nesting import list_nested
from nnapi.runtime.choice.question import Question
from nnapi.runtime.device import REFERENCE, Device
from nnapi.runtime.executors.prepared_partitions import ReadyPlan, prepare_by_driver, queue_on_device
from nnapi.runtime.executors.wrappers import Fallback
from nnapi.runtime.settings import Partitioning


class Spare:
    """The CPU among a question's devices. Without fallback, or without a CPU, it replaces nothing."""

    def __init__(self, question: Question, mode: Partitioning) -> None:
        self._question, self.has_everything = question, mode is Partitioning.NONE
        self._cpu = None if mode is Partitioning.WITHOUT_FALLBACK else find_cpu(question.devices)

    def cover(self, ready: ReadyPlan) -> ReadyPlan:
        """Return a plan that was prepared without guard, and whose failed runs the CPU repeats."""
        model = self._question.model
        prepared = self.guard(f"the plan of {model.name}", model, {*ready.plan.devices}, ready.prepared)
        return ready if prepared is ready.prepared else ready._replace(prepared=prepared)

    def guard(self, what: str, model: Model, devices: Set[str], prepared: Openable) -> Openable:
        """Return the prepared model of some devices, whose failed runs the CPU repeats."""
        cpu = self._cpu
        if cpu is None or devices == {cpu.name}:
            return prepared

        def prepare_again() -> Prepared | None:
            return cpu.adapter.prepare(model, self._plain_options) if self.can_replace(model) else None

        return Fallback(what, prepared, prepare_again)

    def can_replace(self, model: Model | None = None) -> bool:
        """Return whether the CPU supports all operations, by default the question's. Extension and OEM operations are
        not."""
        if self._cpu is None:
            return False
        from nnapi.runtime.planning.device_answers import DeviceAnswers  # on demand: after failures only

        question = self._question
        answers = DeviceAnswers(question.model, [self._cpu], question.options.preference, asked=question.asked)
        nested = list_nested(question.model if model is None else model)
        return all(verdict.supported for each in nested for verdict in answers.about(each).verdicts(0))

    @property
    def _plain_options(self) -> PrepareOptions:
        return PrepareOptions(threads=self._question.options.threads)

    def prepare(self, *, after_failure: bool = False) -> ReadyPlan:
        """Prepare the question's model on the CPU; after a failure, with the number of threads as the only option."""
        from nnapi.runtime.planning.device_answers import DeviceAnswers
        from nnapi.runtime.planning.planner import make_plans

        cpu = need_value(self._cpu, "there is no CPU device to compile the whole model for")
        model, options = self._question.model, self._plain_options if after_failure else self._question.options
        answers = DeviceAnswers(model, [cpu], options.preference, is_no_choice=True)
        (plan,) = make_plans(answers, compared=False)
        return ReadyPlan(plan, queue_on_device(cpu, plan.only_run, prepare_by_driver(cpu, model, options), options))


def find_cpu(devices: Sequence[Device]) -> Device | None:
    """Return the reference if it is among the devices, else the first device of type CPU, else None."""
    found = [device for device in devices if device.type == DeviceTypeCode.DEVICE_CPU]
    return next((device for device in found if device.name == REFERENCE), found[0] if found else None)
