"""Predicted seconds of operations: by a driver's timings, or by declared costs relative to the CPU reference."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from nnapi.codes import CONTROL_FLOW, DeviceTypeCode, OperandCode, OperationCode, PreferenceCode
from nnapi.contract.driver import Capabilities, Performance
from nnapi.contract.timings import Cost, Element, Timed, Timings, find_impossible_timing, find_processor
from nnapi.contract.workload import Work, find_work
from nnapi.model.model import Model, OperationCall
from nnapi.model.nesting import list_call_references, list_nested
from nnapi.model.precision import Precision
from nnapi.runtime.device import REFERENCE, Device
from nnapi.trace.log import Log

log = Log("nnapi.ExecutionPlan")

NOMINAL = Cost(2e-6, 1 / 5e9, 1 / 4e9)
"""The nominal processor: seconds per operation, per multiply-accumulate (MAC) and per byte."""
TURNS = 100
"""Assumed number of turns of a WHILE, which is unknown before a run."""
MOST = 1e9
"""Maximum seconds for the models of control flow. Nested loops multiply the cost, and an infinite cost means a
refusal."""

Tables = Mapping[str, Timings]
"""Timings by device name; a device without any is predicted from declared costs."""


GAINS = {Precision.FLOAT32: 1.0, Precision.FLOAT16: 1.2, Precision.BFLOAT16: 1.6}
"""Measured speed of float32 models in a precision, relative to float32."""


def find_tables(devices: Sequence[Device], threads: int, model: Model) -> Tables:
    """Return the devices' timings for ``threads`` and a model's precision; impossible timings are left out."""
    found = {}
    for device in devices:
        timings = device.driver.timings() if isinstance(device.driver, Timed) else None
        if timings is None:
            continue
        if fault := find_impossible_timing(timings, find_processor()):
            log.warning("the timings of %s are discarded: %s", device.name, fault)
            continue
        shared = 1 if device.type == DeviceTypeCode.DEVICE_CPU else threads  # the reference computes on one thread
        offer = device.adapter.offer_precision(model)
        gain = GAINS[offer.usual] if offer else 1.0
        shares = {each: shared * (gain if each[1] is Element.FLOAT32 else 1.0) for each in timings.costs}
        costs = {
            each: Cost(cost[0], *(seconds / shares[each] for seconds in cost[1:]))
            for each, cost in timings.costs.items()
        }
        found[device.name] = timings._replace(costs=costs)
    return found


def predict(cost: Cost, work: Work) -> float:
    return (
        cost.operation * work.steps
        + cost.mac * work.macs
        + cost.byte * work.nbytes
        + cost.pixel * work.pixels
        + cost.tap * work.taps
    )


def predict_least(model: Model, tables: Tables) -> float:
    """Predict the seconds of a model with each operation on its fastest device, else on the nominal processor. The
    models of control flow count once."""
    total = 0.0
    for each in list_nested(model):
        for call in each.operations:
            work = find_work(each, call)
            costs = [cost for timings in tables.values() if (cost := timings.costs.get(work[:2]))]
            total += min((predict(cost, work) for cost in costs), default=predict(NOMINAL, work))
    return total


class Prices(NamedTuple):
    """The prices of a device: its ``timings``, else its ``declared`` costs times the timings of the ``reference``."""

    declared: Capabilities
    timings: Timings | None = None
    reference: Timings | None = None

    @property
    def launch(self) -> float:
        """Seconds to pass a tensor to the device, besides its bytes."""
        return self.timings.launch if self.timings else self.declared.launch_seconds

    @property
    def byte(self) -> float:
        """Seconds to copy a byte to or from the device."""
        return self.timings.byte if self.timings else self.declared.seconds_per_byte

    def seconds(self, model: Model, call: OperationCall, preference: PreferenceCode, work: Work | None = None) -> float:
        """Predict the seconds of an operation; with LOW_POWER, its energy on the same scale."""
        if call.code in CONTROL_FLOW:
            return self._price_control_flow(model, call, preference)
        work = work or find_work(model, call)
        if self.timings and (cost := self.timings.costs.get(work[:2])):
            return predict(cost, work)
        base = (self.reference.costs.get(work[:2]) if self.reference else None) or NOMINAL
        return predict(base, work) * _find_factor(performance(model, call, self.declared), preference)

    def _price_control_flow(self, model: Model, call: OperationCall, preference: PreferenceCode) -> float:
        totals: dict[Model, float] = {}

        def seconds(model: Model, call: OperationCall) -> float:
            if call.code not in CONTROL_FLOW:
                return self.seconds(model, call, preference)
            is_if = call.code == OperationCode.IF
            own = NOMINAL.operation * _find_factor(self.declared.if_ if is_if else self.declared.while_, preference)
            inner = own + sum(totals[each] for each in list_call_references(model, call)) * (0.5 if is_if else 1.0)
            return min(inner if is_if else TURNS * inner, MOST)

        for inner in list_call_references(model, call):
            for each in list_nested(inner):
                if each not in totals:
                    totals[each] = sum(seconds(each, other) for other in each.operations)
        return seconds(model, call)


def list_prices(devices: Sequence[Device], tables: Tables) -> list[Prices]:
    reference = tables.get(REFERENCE)
    return [Prices(device.driver.capabilities(), tables.get(device.name), reference) for device in devices]


def performance(model: Model, call: OperationCall, capabilities: Capabilities) -> Performance:
    """Return the declared performance of an operation, by its first input's type."""
    code = model.operands[call.inputs[0]].type.code
    if model.relaxed and code in (OperandCode.TENSOR_FLOAT32, OperandCode.FLOAT32):
        return capabilities.relaxed
    return capabilities.by_type.get(code, capabilities.default)


def _find_factor(cost: Performance, preference: PreferenceCode) -> float:
    return cost.power_usage if preference == PreferenceCode.PREFER_LOW_POWER else cost.exec_time
