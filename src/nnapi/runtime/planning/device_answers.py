"""Verdicts of devices on a model, asked for on demand, and predicted costs of its operations."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Self, TypeAlias

from nnapi.codes import PreferenceCode
from nnapi.contract.driver import Verdict
from nnapi.contract.workload import Work, find_work
from nnapi.errors import BadDataError
from nnapi.model.model import Model
from nnapi.printable import pluralize
from nnapi.runtime.costs.prices import NOMINAL, Tables, list_prices
from nnapi.runtime.device import REFERENCE, Device
from nnapi.runtime.planning.partition import FORBIDDEN, Flow, Problem
from nnapi.runtime.planning.plan import UNKNOWN, Alternative, Decision, Explanation
from nnapi.runtime.verdicts.exclusions import exclusions_of
from nnapi.runtime.verdicts.submodel import VARIABLE
from nnapi.runtime.verdicts.verdicts import find_verdicts, need_verdicts
from nnapi.trace import Phase, span

CUT = 2e-5
"""Seconds that a tensor between engines costs besides its move: no fusion across it, conversion of its layout."""

NUMPY = 1.5
"""The reference is predicted to take at least this many times as long as an engine for an operation. Errors of timings
then cannot make NumPy look faster than an engine, except where the launch of the engine is longer than its work."""

Asked: TypeAlias = dict[tuple[Device, Model, int], Sequence[Verdict]]
"""The verdicts of devices that were asked, by device, model and number of exclusions of the device."""
Exclusions: TypeAlias = Mapping[tuple[str, Model, int], str]
"""The reason of each exclusion, by device name, model and operation number."""


class DeviceAnswers:
    """Verdicts and predicted costs of a model's operations on each device, for plans on a number of threads. A device
    that raises an error supports nothing; with ``is_no_choice``, its error is raised."""

    def __init__(
        self,
        model: Model,
        devices: Sequence[Device],
        preference: PreferenceCode,
        exclusions: Exclusions | None = None,
        tables: Tables | None = None,
        asked: Asked | None = None,
        *,
        threads: int | None = None,
        is_no_choice: bool = False,
    ) -> None:
        self.model, self.devices, self.preference = model, devices, preference
        self.exclusions, self.tables = exclusions or {}, tables or {}
        self._asked: Asked = {} if asked is None else asked
        self.threads, self._is_no_choice = threads, is_no_choice

    def about(self, model: Model) -> Self:
        """Return the answers of the same devices on a model inside this one."""
        return self._copy(model, self.exclusions)

    def without(self, exclusions: Exclusions) -> Self:
        """Return the answers with more ``exclusions``."""
        return self._copy(self.model, {**self.exclusions, **exclusions}) if exclusions else self

    def without_greedy(self) -> Self:
        """Return the answers in which devices that take too many threads leave to the other devices what these
        support."""
        fault = f"may take more than {pluralize(self.threads or 1, 'thread')}"
        keeps = {i: each.keeps_to(self.threads) for i, each in enumerate(self.devices) if not each.is_out}
        if all(keeps.values()) or not any(keeps.values()):
            return self
        fit = [self.verdicts(index) for index, is_fit in keeps.items() if is_fit]
        calls = [call for position, call in enumerate(self.model.operations) if any(v[position].supported for v in fit)]
        greedy = [self.devices[index].name for index, is_fit in keeps.items() if not is_fit]
        return self.without({(name, self.model, call.number): f"{name} {fault}" for name in greedy for call in calls})

    def _copy(self, model: Model, exclusions: Exclusions) -> Self:
        more, is_no_choice = (exclusions, self.tables, self._asked), self._is_no_choice
        given = model, self.devices, self.preference
        return type(self)(*given, *more, threads=self.threads, is_no_choice=is_no_choice)

    def verdicts(self, index: int) -> Sequence[Verdict]:
        device, model = self.devices[index], self.model
        key = device, model, len(exclusions_of(device.driver).reasons)
        if key not in self._asked:
            ask = need_verdicts if self._is_no_choice else find_verdicts
            with span(device.layer, Phase.COMPILATION, "getSupportedOperations", device=device.name):
                self._asked[key] = ask(device.driver, model)
        found = self._asked[key]
        if not self.exclusions:
            return found
        reasons = [self.exclusions.get((device.name, model, call.number)) for call in model.operations]
        return [Verdict(False, said) if said else verdict for said, verdict in zip(reasons, found, strict=True)]

    @cached_property
    def _answers(self) -> list[tuple[Device, Sequence[Verdict]]]:
        return [(device, self.verdicts(index)) for index, device in enumerate(self.devices)]

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.exclusions.values()))

    def need_taken(self) -> None:
        """Raise BadDataError, with each device's reason, if no device supports an operation."""
        answers = self._answers
        if any(all(verdict.supported for verdict in verdicts) for _, verdicts in answers):
            return
        for position, call in enumerate(self.model.operations):
            if not any(verdicts[position].supported for _, verdicts in answers):
                refusals = [f"{device.name}: {verdicts[position].reason}" for device, verdicts in answers]
                raise BadDataError(f"no device supports {call}; " + "; ".join(refusals))

    @cached_property
    def problem(self) -> Problem:
        return self.price([verdicts for _, verdicts in self._answers])

    def price(self, verdicts: Sequence[Sequence[Verdict]]) -> Problem:
        """Return the costs of all operations; refused ones cost FORBIDDEN."""
        model, prices = self.model, list_prices(self.devices, self.tables)
        compute = []
        for call, *answers in zip(model.operations, *verdicts, strict=True):
            work = find_work(model, call)
            row = [
                sum(price.seconds(model, call, self.preference, part) for part in self._divide(verdict) or [work])
                if verdict.supported
                else FORBIDDEN
                for price, verdict in zip(prices, answers, strict=True)
            ]
            compute.append(self._bound_reference(row, answers))
        cut, cut_byte = (CUT, NOMINAL.byte) if self.tables else (0.0, 0.0)
        launches, bytes_ = [price.launch for price in prices], [price.byte for price in prices]
        return Problem(compute, _find_flows(model), launches, bytes_, cut, cut_byte)

    def _divide(self, verdict: Verdict) -> Sequence[Work]:
        """Return the parts of a decomposed operation, if there are timings of them: performance is declared for the
        operation, and the sum of its parts would only count their number."""
        return verdict.parts if self.tables else ()

    def _bound_reference(self, row: list[float], verdicts: Sequence[Verdict]) -> list[float]:
        """Raise the reference's seconds of an operation to more than those of the engines that take it whole."""
        if REFERENCE not in self.tables:
            return row
        names = [device.name for device in self.devices]
        engines = [
            seconds
            for name, seconds, verdict in zip(names, row, verdicts, strict=True)
            if name in self.tables and name != REFERENCE and verdict.supported and not verdict.parts
        ]
        least = NUMPY * max(engines, default=0.0)
        return [max(seconds, least) if name == REFERENCE else seconds for name, seconds in zip(names, row, strict=True)]

    def explain(self, assignment: Sequence[int]) -> Explanation:
        """Explain an assignment, with the alternatives on single devices. Costs are unknown of devices with a
        substitute."""
        names, problem = [device.name for device in self.devices], self.problem
        absent = {index for index, device in enumerate(self.devices) if device.substitute}
        operations = {call.code: call.name for call in self.model.operations}
        decisions = tuple(
            Decision(
                call.number,
                operations[call.code],
                names[index],
                tuple((device.name, verdicts[position]) for device, verdicts in self._answers),
                tuple((names[each], cost) for each, cost in enumerate(problem.compute[position]) if each not in absent),
            )
            for position, (call, index) in enumerate(zip(self.model.operations, assignment, strict=True))
        )
        costs = {index: problem.cost((index,) * len(assignment)) for index in range(len(names))}
        singles = [
            Alternative(f"everything on {name}", UNKNOWN if index in absent else costs[index])
            for index, name in enumerate(names)
            if set(assignment) != {index} and costs[index] < FORBIDDEN
        ]
        predicted = UNKNOWN if absent & set(assignment) else problem.cost(assignment)
        return Explanation(decisions, predicted, tuple(sorted(singles, key=lambda each: each.seconds)))


def _find_flows(model: Model) -> list[Flow]:
    producers = {index: position for position, call in enumerate(model.operations) for index in call.outputs}
    consumers: dict[int, list[int]] = {}
    for position, call in enumerate(model.operations):
        for index in dict.fromkeys(call.inputs):
            consumers.setdefault(index, []).append(position)
    return [
        Flow(producers.get(o.index), tuple(consumers.get(o.index, ())), o.type.nbytes, o.index in model.outputs)
        for o in model.operands
        if o.lifetime in VARIABLE
    ]
