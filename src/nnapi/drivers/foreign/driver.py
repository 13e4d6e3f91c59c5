"""The driver of one device of another NNAPI library."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing

from nnapi.codes import DeviceTypeCode
from nnapi.drivers.base import ENGINE, Capabilities, DeviceInfo, PrepareOptions, Verdict
from nnapi.drivers.foreign.agent import Agent, OnLoss, keep
from nnapi.drivers.foreign.built import Built
from nnapi.drivers.foreign.prepared import PreparedForeign
from nnapi.errors import BadDataError, DeadObjectError, NnapiError, OpFailedError, UnavailableDeviceError, need
from nnapi.model.model import Model, OperationCall

LEVEL_1, LEVEL_5, LEVELS_FROM_6 = 27, 31, 1_000_000
"""FeatureLevelCode: 27 to 31 for levels 1 to 5, then 1000000 plus the level."""


class ForeignDriver:
    """A device of a library."""

    def __init__(self, agent: Agent, index: int, info: DeviceInfo) -> None:
        self.info = info
        self._agent, self._index = agent, index

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        try:
            answers = self._ask(model, model.operations)
        except DeadObjectError:
            raise
        except NnapiError:  # what one operation is refused for, all would be
            return [self._judge(model, call) for call in model.operations]
        return [self._as_verdict(*each) for each in zip(model.operations, answers, strict=True)]

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedForeign:
        built = Built(self._agent, model)
        try:
            compiled = built.compile(self._index, options)
        except BaseException:
            built.close()
            raise
        return PreparedForeign(self._agent.path, compiled, model, built.close)

    def _judge(self, model: Model, call: OperationCall) -> Verdict:
        try:
            return self._as_verdict(call, *self._ask(model, [call]))
        except DeadObjectError:
            raise
        except NnapiError as error:
            return Verdict(False, f"{call}: {error}")

    def _as_verdict(self, call: OperationCall, takes: bool) -> Verdict:
        return Verdict(takes, "" if takes else f"{call}: {self._agent.path} does not take it")

    def _ask(self, model: Model, calls: Sequence[OperationCall]) -> list[bool]:
        for call in calls:
            need(call.match is not None, f"{call}: operations of extensions are not passed through", OpFailedError)
        with closing(Built(self._agent, model, None if len(calls) == len(model.operations) else calls)) as built:
            return built.ask(self._index)


def load_driver(name: str, path: str, index: int, on_loss: OnLoss = keep) -> ForeignDriver:
    """Return the driver of the device at an index; BadDataError without such a device, UnavailableDeviceError if the
    library is unusable. ``on_loss`` is called if the connection to an agent is lost."""
    agent = Agent(path, on_loss)
    try:
        devices = agent.list_devices()
        if index >= len(devices):
            raise BadDataError(f"{path} has {len(devices)} devices")
        facts = devices[index]
        level = min(read_level(path, facts.level), agent.level)
    except BadDataError:
        raise
    except NnapiError as error:
        raise UnavailableDeviceError(str(error)) from None
    known = DeviceTypeCode(facts.type) if facts.type in (2, 3, 4) else DeviceTypeCode.DEVICE_OTHER
    return ForeignDriver(agent, index, DeviceInfo(f"{name}-{facts.name}", facts.version, known, level))


def read_level(path: str, number: int) -> int:
    """Return the feature level 1 to 8 of a FeatureLevelCode; 8 for newer ones."""
    level = number - LEVELS_FROM_6 if number > LEVELS_FROM_6 else number - LEVEL_1 + 1
    known = LEVEL_1 <= number <= LEVEL_5 or number >= LEVELS_FROM_6 + 6
    need(known, f"{path} says feature level {number}, which NNAPI does not have", UnavailableDeviceError)
    return min(level, 8)
