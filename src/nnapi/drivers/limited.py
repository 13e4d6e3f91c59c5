"""A device that supports fewer operations: to plan for a phone's device, and to test partitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Capabilities, DeviceInfo, Driver, Prepared, PrepareOptions, Verdict
from nnapi.model.model import Model, OperationCall

Refuses = Callable[[Model, OperationCall], str | None]
"""Returns why an operation is refused; None if it is supported."""


@dataclass(frozen=True, eq=False)
class Limited:
    """A driver with another name and more refusals; also other capabilities, version or feature level, if given."""

    driver: Driver
    name: str
    refuses: Refuses | None = None
    declared: Capabilities | None = None
    feature_level: int | None = None
    type: DeviceTypeCode = DeviceTypeCode.DEVICE_ACCELERATOR
    version: str | None = None

    @property
    def info(self) -> DeviceInfo:
        inner = self.driver.info
        level = inner.feature_level if self.feature_level is None else self.feature_level
        version = inner.version if self.version is None else self.version
        return inner._replace(name=self.name, type=self.type, feature_level=level, version=version)

    def capabilities(self) -> Capabilities:
        return self.driver.capabilities() if self.declared is None else self.declared

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        inner = self.driver.verdicts(model)
        return [
            Verdict(False, reason) if verdict.supported and (reason := self._reason(model, call)) else verdict
            for call, verdict in zip(model.operations, inner, strict=True)
        ]

    def _reason(self, model: Model, call: OperationCall) -> str | None:
        if call.match and call.match.level > self.info.feature_level:
            facet = max(call.match.facets, key=lambda facet: facet.level)
            return (
                f"{call} needs feature level {facet.level} ({facet.reason}), {self.name} has {self.info.feature_level}"
            )
        return self.refuses(model, call) if self.refuses else None

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        return self.driver.prepare(model, options)
