"""A wrapper around a driver that fails on purpose, to test the runtime."""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial

import numpy as np

from nnapi.contract.driver import (
    Capabilities,
    DeviceInfo,
    Driver,
    Handle,
    OpenOptions,
    Outcome,
    Prepared,
    PrepareOptions,
    Request,
    Verdict,
)
from nnapi.contract.handles import MEASURED, SHARED, open_handle
from nnapi.errors import DeadObjectError, OpFailedError, UnavailableDeviceError
from nnapi.model.model import Model
from nnapi.model.operand import Array


class Fault(Enum):
    REFUSES = "says it is busy"
    FAILS = "reports a general failure"
    DIES = "is gone, now and for good"
    HANGS = "does not answer"
    SLOW = "answers late"
    LIES = "claims every operation and cannot prepare some"
    WRONG = "answers with wrong values"
    RAISES = "raises an exception that is not an NnapiError"


class Phase(Enum):
    PREPARE = "prepare"
    EXECUTE = "execute"


@dataclass(eq=False)
class Faulty:
    """A driver with a fault.

    The fault occurs in ``phase`` with probability ``rate``, for models that have an operation with code ``operation``
    and an operand named ``result`` (None: any). ``seconds`` is the delay of SLOW and the maximum time of HANGS.
    """

    driver: Driver
    fault: Fault
    phase: Phase = Phase.EXECUTE
    operation: int | None = None
    result: str | None = None
    rate: float = 1.0
    seconds: float = 0.05
    seed: int = 0
    struck: int = 0
    _dead: bool = False
    _random: random.Random = field(init=False)
    released: threading.Event = field(default_factory=threading.Event)
    """Set it to end a HANGS early."""

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    @property
    def info(self) -> DeviceInfo:
        return self.driver.info

    def capabilities(self) -> Capabilities:
        return self.driver.capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        if self.fault is Fault.LIES:
            return [Verdict(True)] * len(model.operations)
        return self.driver.verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        self.strike(Phase.PREPARE, model)
        return _FaultyPrepared(self, model, self.driver.prepare(model, options))

    def strike(self, phase: Phase, model: Model) -> bool:
        """Cause the fault if it applies; return whether to corrupt the results."""
        if self._dead:
            raise DeadObjectError(f"{self.info.name} has died")
        hit = self.operation is None or any(call.code == self.operation for call in model.operations)
        computed = (model.operands[index].name for call in model.operations for index in call.outputs)
        hit = hit and (self.result is None or self.result in computed)
        if phase is not self.phase or not hit or self._random.random() >= self.rate:
            return False
        self.struck += 1
        match self.fault:
            case Fault.REFUSES:
                raise UnavailableDeviceError(f"{self.info.name} is busy")
            case Fault.FAILS | Fault.LIES:
                raise OpFailedError(f"{self.info.name} reports a general failure")
            case Fault.DIES:
                self._dead = True
                raise DeadObjectError(f"{self.info.name} has died")
            case Fault.HANGS:
                self.released.wait(self.seconds)
            case Fault.SLOW:
                time.sleep(self.seconds)
            case Fault.RAISES:
                raise ZeroDivisionError("a driver's mistake")
        return self.fault is Fault.WRONG


class _FaultyPrepared:
    """A Prepared without a fast path, so that every run may have the fault."""

    def __init__(self, faulty: Faulty, model: Model, prepared: Prepared) -> None:
        self._faulty, self._model, self._prepared = faulty, model, prepared

    def open_handle(self, options: OpenOptions) -> Handle:
        inner = open_handle(self._prepared, MEASURED if options.measure else SHARED)
        return Handle(partial(self._execute, inner.execute), self.open_handle)

    def execute(self, request: Request) -> Outcome:
        return self._execute(self._prepared.execute, request)

    def _execute(self, execute: Callable[[Request], Outcome], request: Request) -> Outcome:
        spoil = self._faulty.strike(Phase.EXECUTE, self._model)
        outcome = execute(request)
        return outcome._replace(outputs=[_invert_bits(array) for array in outcome.outputs]) if spoil else outcome

    def close(self) -> None:
        self._prepared.close()


def _invert_bits(array: Array) -> Array:
    return np.bitwise_not(array.reshape(-1).view(np.uint8)).view(array.dtype).reshape(array.shape)
