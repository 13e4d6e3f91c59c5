"""Records of plans, shared by processes: the chosen plan, and the plans that a trial compared it with."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from nnapi.runtime.choice.question import Question
from nnapi.runtime.planning.plan import UNKNOWN, Alternative, Explanation, Plan, Run

MEASURED, PREDICTED, TINY = "measured", "predicted", "tiny"


class Comparison(NamedTuple):
    """A plan compared with the active one: log ratios of times, standing, and the reason if it is excluded."""

    description: str
    predicted: float
    logs: Sequence[float]
    standing: str
    reason: str = ""


class Record(NamedTuple):
    """A chosen plan. ``device`` and ``variant`` describe a plan on one device, ``identity`` a plan on several.
    ``seconds`` is the median of its runs; ``comparisons`` are the plans compared with it."""

    state: str
    device: str
    variant: str
    identity: str
    operations: int
    threads: int | None
    predicted: float
    seconds: float | None = None
    comparisons: Sequence[Comparison] = ()

    @classmethod
    def of(cls, state: str, plan: Plan, seconds: float | None = None, comparisons: Sequence[Comparison] = ()) -> Self:
        """Describe a plan. Only a measured one gets its predicted seconds: predicting would ask all devices."""
        if plan.is_simple:
            run = plan.only_run
            what = run.device, plan.variant, "", len(run.operations)
        else:
            what = "", "", plan.identity, 0
        return cls(state, *what, plan.threads, plan.predicted if state == MEASURED else UNKNOWN, seconds, comparisons)

    def make_plan(self, question: Question) -> Plan | None:
        """Return the plan on one device; None if the device is missing. No device is asked or loaded."""
        if all(each.name != self.device for each in question.devices):
            return None
        model, explain = question.model, partial(_explain, question, self.device, self.threads)
        run = Run(self.device, model, tuple(range(self.operations)), model.inputs, model.outputs)
        plan = Plan(model, (run,), explain).on_threads(self.threads).with_variant(self.variant)
        return plan if self.seconds is None else self.add_times(plan)

    def add_times(self, plan: Plan) -> Plan:
        """Return the plan with a trial's results: the compared plans, the fastest first, and a note on each."""
        from nnapi.runtime.choice.paired_times import Evidence  # on demand: it loads statistics

        found, notes, seconds = [], [], self.seconds or 0.0
        for each in self.comparisons:
            evidence = Evidence(each.logs)
            measured = seconds / evidence.ratio if each.logs and not each.reason else None
            found.append(Alternative(each.description, each.predicted, measured))
            notes.append(f"{each.description}: {each.reason or f'{each.standing} ({evidence.describe()})'}")
        found.sort(key=lambda other: (other.measured is None, other.measured or other.seconds))
        return plan.with_times(self.predicted, seconds, tuple(found)).with_notes(tuple(notes))


def _explain(question: Question, device: str, threads: int | None) -> Explanation:
    """Explain a whole model on one device by the verdicts of all devices and the shipped timings."""
    from nnapi.runtime.planning.device_answers import DeviceAnswers

    model, devices, preference = question.model, question.devices, question.options.preference
    answers = DeviceAnswers(model, devices, preference, None, question.tables(threads), question.asked)
    return answers.explain([[each.name for each in devices].index(device)] * len(model.operations))


def parse(data: Any) -> Record:
    """Return the record in JSON data; raise ValueError, KeyError, TypeError or AttributeError for other data."""
    record = Record(**{name: data[name] for name in Record._fields})
    comparisons = [Comparison(*each) for each in record.comparisons]
    numbers = [record.predicted, record.seconds or 0.0, *(log for each in comparisons for log in each.logs)]
    if record.state not in (MEASURED, PREDICTED, TINY) or not all(isinstance(each, int | float) for each in numbers):
        raise ValueError(f"{data!r} is not a record of a plan")
    return record._replace(comparisons=comparisons, device=str(record.device), variant=str(record.variant))
