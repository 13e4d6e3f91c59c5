"""What operations are predicted to cost on a device, in seconds: as measured on this machine, or as declared.

Declared figures are relative to the CPU reference: to what that was measured to take, and to a nominal processor where
it was not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nnapi.codes import CONTROL_FLOW, OperandCode, OperationCode, PreferenceCode
from nnapi.drivers.base import Capabilities, Performance
from nnapi.model.model import Model, OperationCall
from nnapi.model.nesting import list_called, list_nested
from nnapi.runtime.costs.cost_tables import Cost, Estimate, Table
from nnapi.runtime.costs.workload import Work, find_work
from nnapi.runtime.device import REFERENCE, Device

NOMINAL = Cost(2e-6, 1 / 5e9, 1 / 4e9)
"""The nominal processor: seconds for an operation, a MAC and a byte."""
UNMEASURED = Table()
MOST = 1e9
"""Seconds that what is inside control flow counts at most: loops that share their bodies double at each depth, and
what is not finite would count as refused."""


class Prices(NamedTuple):
    """What a device costs: ``measured`` where that has an entry, else what is expected of it, else what was measured of
    its ``peers``, which declare the same, else ``declared`` relative to ``reference``; that is as much slower than
    another device, of which something is ``expected``, as that declares."""

    declared: Capabilities
    measured: Table = UNMEASURED
    reference: Table = UNMEASURED
    peers: Sequence[Table] = ()
    expected: tuple[Capabilities, Estimate] | None = None

    @property
    def launch(self) -> float:
        """Seconds to hand the device a tensor."""
        if self.measured.launch is None and self.measured.estimate:
            return self.measured.estimate.launch
        return self.declared.launch_seconds if self.measured.launch is None else self.measured.launch

    @property
    def byte(self) -> float:
        """Seconds to bring a byte to the device or from it."""
        if self.measured.byte is None and self.measured.estimate:
            return self.measured.estimate.byte
        return self.declared.seconds_per_byte if self.measured.byte is None else self.measured.byte

    def seconds(self, model: Model, call: OperationCall, preference: PreferenceCode, work: Work | None = None) -> float:
        """Predicted seconds of one operation; joules of the same scale for LOW_POWER.

        ``work`` is the operation's, where it is known already.
        """
        if call.code in CONTROL_FLOW:
            return self._price_control_flow(model, call, preference)
        work = work or find_work(model, call)
        cost = self.measured.costs.get(work[:2])
        if cost is not None:
            return cost.seconds(work)
        if work[:2] not in self.measured.costs:  # what could not be measured is no better for that of peers
            expected = self.measured.estimate.costs.get(work[:2]) if self.measured.estimate else None
            if expected is not None:
                return expected.seconds(work)
            known = [other for table in self.peers if (other := table.costs.get(work[:2])) is not None]
            if known:
                return max(other.seconds(work) for other in known)
        base = self.reference.costs.get(work[:2])
        seconds = base.seconds(work) if base else self._expect_reference(model, call, work)
        return seconds * _find_factor(performance(model, call, self.declared), preference)

    def _expect_reference(self, model: Model, call: OperationCall, work: Work) -> float:
        """Seconds of the reference, which was not measured."""
        if self.expected:
            capabilities, estimate = self.expected
            if (cost := estimate.costs.get(work[:2])) is not None:
                return cost.seconds(work) / performance(model, call, capabilities).exec_time
        return NOMINAL.seconds(work)

    def _price_control_flow(self, model: Model, call: OperationCall, preference: PreferenceCode) -> float:
        totals: dict[Model, float] = {}

        def seconds(model: Model, call: OperationCall) -> float:
            if call.code not in CONTROL_FLOW:
                return self.seconds(model, call, preference)
            is_if = call.code == OperationCode.IF
            own = NOMINAL.operation * _find_factor(self.declared.if_ if is_if else self.declared.while_, preference)
            inner = sum(totals[each] for each in list_called(model, call)) * (0.5 if is_if else 1.0)
            return own + min(inner, MOST)

        for inner in list_called(model, call):
            for each in list_nested(inner):
                if each not in totals:
                    totals[each] = sum(seconds(each, other) for other in each.operations)
        return seconds(model, call)


def list_prices(devices: Sequence[Device], tables: Mapping[str, Table]) -> list[Prices]:
    """The prices of each device, by what was measured of all, by their names."""
    declared = [device.driver.capabilities() for device in devices]
    performances = [each._replace(launch_seconds=0.0, seconds_per_byte=0.0) for each in declared]
    known = [tables.get(device.name, UNMEASURED) for device in devices]
    reference = tables.get(REFERENCE, UNMEASURED)
    estimates = zip(declared, (table.estimate for table in known), strict=True)
    expected = next(((its, estimate) for its, estimate in estimates if estimate), None)
    return [
        Prices(
            own,
            table,
            reference,
            [other for p, other in enumerate(known) if p != place and performances[p] == its],
            expected,
        )
        for place, (own, table, its) in enumerate(zip(declared, known, performances, strict=True))
    ]


def performance(model: Model, call: OperationCall, capabilities: Capabilities) -> Performance:
    """The declared figure for an operation: that of its first input's type."""
    code = model.operands[call.inputs[0]].type.code
    if model.relaxed and code in (OperandCode.TENSOR_FLOAT32, OperandCode.FLOAT32):
        return capabilities.relaxed
    return capabilities.by_type.get(code, capabilities.default)


def _find_factor(figure: Performance, preference: PreferenceCode) -> float:
    return figure.power_usage if preference == PreferenceCode.PREFER_LOW_POWER else figure.exec_time
