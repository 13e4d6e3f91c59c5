"""The driver of the devices ``ethos-u…``."""

import hashlib
from collections.abc import Collection, Sequence
from typing import ClassVar

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import (
    COMPOSITE_OPERATIONS,
    Capabilities,
    DeviceInfo,
    Outcome,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.host_memory import HostMemory
from nnapi.contract.substitutes import FOREMOST
from nnapi.drivers.ethos_u.vela import Report, run_vela
from nnapi.errors import OpFailedError
from nnapi.exporters.tflite.numbered import NumberedConversion
from nnapi.model.model import Model, OperationCall
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record


class Planned:
    """A prepared model that cannot run."""

    def __init__(self, device: str) -> None:
        self._device = device

    def execute(self, request: Request) -> Outcome:
        raise OpFailedError(f"{self._device} cannot run models here: Vela only plans them")

    def close(self) -> None:
        pass


class EthosUDriver(HostMemory):
    """A driver that supports the operations that Vela compiles for an NPU. Its models cannot run."""

    is_by_name: ClassVar[bool] = True
    is_measured: ClassVar[bool] = False
    substitute: ClassVar[str] = "planned by Arm's compiler Vela, and cannot run models here"

    def __init__(self, configuration: str, release: str) -> None:
        kind, extensions = DeviceTypeCode.DEVICE_ACCELERATOR, (COMPOSITE_OPERATIONS,)
        self.info = DeviceInfo(configuration, f"Vela {release}, plans only", kind, 8, extensions)

    def capabilities(self) -> Capabilities:
        return FOREMOST

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        report, verdicts = self._ask_whole(model)
        return [
            _judge(call, report) if verdict.supported else verdict
            for call, verdict in zip(model.operations, verdicts, strict=True)
        ]

    def prepare(self, model: Model, options: PrepareOptions) -> Planned:
        return Planned(self.info.name)

    def list_estimates(self, model: Model) -> Sequence[str]:
        report, _ = self._ask_whole(model)
        return [f"{self.info.name}: {report.estimate}"] if report.estimate else []

    def _ask_whole(self, model: Model) -> tuple[Report, Sequence[Verdict]]:
        """Return Vela's answer, and the verdicts of the lowering before it."""
        lowered = NumberedConversion(model).run()
        return self._ask(lowered, lowered.list_supported()), lowered.verdicts

    def _ask(self, lowered: NumberedConversion, numbers: Collection[int]) -> Report:
        """Ask about some operations in one file; if Vela fails, about each alone. Answers are recorded on disk."""
        if not numbers:
            return Report()
        content = lowered.write(numbers)
        key = f"verdicts of {self.info.name}, {self.info.version}: {hashlib.sha256(content).hexdigest()}"
        known = recall_record(RecordKind.PROBES, key, _parse)
        if known is None:
            known = run_vela(content, self.info.name)
            if known.failure:
                known = self._ask_each(lowered, numbers, known.failure)
            keep_record(RecordKind.PROBES, key, _write(known), model=lowered.model.name, device=self.info.name)
        return known

    def _ask_each(self, lowered: NumberedConversion, numbers: Collection[int], failure: str) -> Report:
        if len(numbers) == 1:
            return Report(dict.fromkeys(numbers, failure))
        refusals, cycles = dict[int, str](), dict[int, int]()
        for number in numbers:
            alone = self._ask(lowered, {number})
            refusals |= alone.refusals
            cycles |= alone.cycles
        return Report(refusals, cycles, f"Vela cannot compile the whole model: {failure}")


def _judge(call: OperationCall, report: Report) -> Verdict:
    if refusal := report.refusals.get(call.number):
        return Verdict(False, f"{call}: {refusal}")
    cycles = report.cycles.get(call.number)
    return Verdict(True, f"{cycles:,} cycles" if cycles else "")


def _write(report: Report) -> dict[str, object]:
    return {**report._asdict(), "refusals": dict(report.refusals), "cycles": dict(report.cycles)}


def _parse(found: dict[str, dict[str, object]]) -> Report:
    refusals = {int(number): str(reason) for number, reason in found["refusals"].items()}
    cycles = {int(number): int(str(count)) for number, count in found["cycles"].items()}
    return Report(refusals, cycles, str(found["estimate"]))
