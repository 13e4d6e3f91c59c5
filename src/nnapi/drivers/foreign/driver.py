"""Drivers for the devices of other NNAPI libraries."""

from collections.abc import Sequence
from contextlib import closing

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import ENGINE, Capabilities, DeviceInfo, PrepareOptions, Verdict
from nnapi.drivers.foreign.agent import Agent, DeviceFacts
from nnapi.drivers.foreign.built_model import Built
from nnapi.drivers.foreign.prepared import Live, PreparedForeign
from nnapi.drivers.isolated.probing import PATIENCE
from nnapi.errors import BadDataError, DeadObjectError, NnapiError, OpFailedError, UnavailableDeviceError, need
from nnapi.locks import make_lock
from nnapi.model.model import Model, OperationCall
from nnapi.trace import Layer, Phase, Section

LEVEL_1, LEVEL_5, LEVELS_FROM_6 = 27, 31, 1_000_000
"""FeatureLevelCode: 27 to 31 for levels 1 to 5; 1000000 plus the level from level 6 on."""


class ForeignDriver:
    """A device of another library. A lost connection is made again at the next use."""

    is_remote = True

    def __init__(
        self, name: str, path: str, index: int, agent: Agent, devices: Sequence[DeviceFacts] | None = None
    ) -> None:
        """``devices`` are those that the agent has listed, if it was asked before. Raise BadDataError if there is no
        device ``index``, UnavailableDeviceError if the library is unusable."""
        self.library, self._path, self._index, self._agent = name, path, index, agent
        self._lock = make_lock()
        self.info = self._describe(agent, devices)

    def connect(self) -> Agent:
        """Return the connection, made again if it was lost; raise DeadObjectError if the device has changed."""
        if not self._agent.is_alive:
            with self._lock:
                if not self._agent.is_alive:
                    agent = Agent(self._path)
                    info = self._describe(agent)
                    said = f"{self.info.name} {self.info.version} has become {info.name} {info.version}"
                    if info != self.info:
                        agent.close()
                        raise DeadObjectError(said)
                    self._agent = agent
        return self._agent

    def wait(self) -> None:
        """Connect, if the connection was lost."""
        self.connect()

    def close(self) -> None:
        """Close the connection; the next use connects again."""
        self._agent.close()

    @property
    def pid(self) -> int | None:
        """ID of the process that calls the library; None without a connection."""
        return self._agent.pid if self._agent.is_alive else None

    def _describe(self, agent: Agent, devices: Sequence[DeviceFacts] | None = None) -> DeviceInfo:
        try:
            devices = agent.list_devices() if devices is None else devices
            need(self._index < len(devices), f"{self._path} has {len(devices)} devices", BadDataError)
            facts = devices[self._index]
            level = min(read_level(self._path, facts.level), agent.level)
        except BadDataError:
            raise
        except NnapiError as error:
            raise UnavailableDeviceError(str(error)) from None
        type = DeviceTypeCode(facts.type) if facts.type in (2, 3, 4) else DeviceTypeCode.DEVICE_OTHER
        return DeviceInfo(f"{self.library}-{facts.name}", facts.version, type, level)

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        with Section(Layer.DRIVER, Phase.COMPILATION, "getSupportedOperations", model=model.name):
            try:
                answers = self._ask(model, model.operations)
            except DeadObjectError:
                raise
            except NnapiError:  # one operation may be the cause: ask about each alone
                return [self._judge(model, call) for call in model.operations]
        return [self._as_verdict(*each) for each in zip(model.operations, answers, strict=True)]

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedForeign:
        def make() -> Live:
            built = Built(self.connect(), model)
            try:
                return Live(built.compile(self._index, options), built.close)
            except BaseException:
                built.close()
                raise

        run = Section(Layer.DRIVER, Phase.EXECUTION, self.info.name, model=model.name)
        with Section(Layer.DRIVER, Phase.COMPILATION, "prepareModel", model=model.name):
            return PreparedForeign(model, make, run)

    def _judge(self, model: Model, call: OperationCall) -> Verdict:
        try:
            return self._as_verdict(call, *self._ask(model, [call]))
        except DeadObjectError:
            raise
        except NnapiError as error:
            return Verdict(False, f"{call}: {error}")

    def _as_verdict(self, call: OperationCall, takes: bool) -> Verdict:
        return Verdict(takes, "" if takes else f"{call}: {self._path} does not support it")

    def _ask(self, model: Model, calls: Sequence[OperationCall]) -> list[bool]:
        for call in calls:
            need(call.match is not None, f"{call}: operations of extensions are not passed through", OpFailedError)
        with closing(Built(self.connect(), model, None if len(calls) == len(model.operations) else calls)) as built:
            return built.ask(self._index)


def list_devices(name: str, path: str, patience: float = PATIENCE) -> list[ForeignDriver]:
    """Return a driver for each device of a library; each connects again at first use."""
    with closing(Agent(path, patience)) as agent:
        devices = agent.list_devices()
        need(devices, f"{path} has no devices", UnavailableDeviceError)
        return [ForeignDriver(name, path, index, agent, devices) for index in range(len(devices))]


def read_level(path: str, number: int) -> int:
    """Return the feature level, 1 to 8, of a FeatureLevelCode; 8 for higher ones."""
    level = number - LEVELS_FROM_6 if number > LEVELS_FROM_6 else number - LEVEL_1 + 1
    known = LEVEL_1 <= number <= LEVEL_5 or number >= LEVELS_FROM_6 + 6
    need(known, f"{path} reports feature level {number}, which NNAPI does not have", UnavailableDeviceError)
    return min(level, 8)
