"""Diagnostics for clients of a support library: callbacks after each compilation and computation. They receive a C
structure, which the getters read without Python. While no callback is registered, no call is watched."""

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any
from weakref import WeakKeyDictionary

from nnapi.capi._bridge import ffi
from nnapi.capi.handles import Handles
from nnapi.codes import CONTROL_FLOW, DurationCode, FeatureLevelCode, OperandCode
from nnapi.errors import NnapiError
from nnapi.model.model import Lifetime, Model
from nnapi.model.operand import OperandType
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.execution import Execution

NOT_MEASURED = 2**64 - 1


class DataClass(IntEnum):
    UNKNOWN, OTHER, FLOAT32, FLOAT16, QUANT, MIXED = range(6)


class Mode(IntEnum):
    """The function that started a computation."""

    UNKNOWN, ASYNC, SYNC, BURST, ASYNC_WITH_DEPS = range(5)


MODES = {
    "ANeuralNetworksExecution_compute": Mode.SYNC,
    "ANeuralNetworksExecution_burstCompute": Mode.BURST,
    "ANeuralNetworksExecution_startCompute": Mode.ASYNC,
    "ANeuralNetworksExecution_startComputeWithDependencies": Mode.ASYNC_WITH_DEPS,
}
FLOATS: dict[int, DataClass] = {
    OperandCode.FLOAT32: DataClass.FLOAT32,
    OperandCode.TENSOR_FLOAT32: DataClass.FLOAT32,
    OperandCode.FLOAT16: DataClass.FLOAT16,
    OperandCode.TENSOR_FLOAT16: DataClass.FLOAT16,
}

Call = Callable[..., int]


def data_class(types: Iterable[OperandType]) -> DataClass:
    others = {True: DataClass.QUANT, False: DataClass.OTHER}
    classes = {FLOATS.get(type.code, others[type.is_quantized]) for type in types}
    return classes.pop() if len(classes) == 1 else DataClass.MIXED if classes else DataClass.UNKNOWN


def describe(model: Model) -> dict[str, Any]:
    """Return a model's fields of the C structure: the hash of its structure, and facts about its data."""
    operands = model.operands
    structure = [(o.type.code, o.type.dimensions, o.lifetime.name) for o in operands]
    calls = [(int(call.code), call.inputs, call.outputs) for call in model.operations]
    content = repr((structure, calls, model.inputs, model.outputs)).encode()
    return {
        "hash": ffi.new("uint8_t[]", hashlib.sha256(content).digest()),
        "input_class": data_class(operands[index].type for index in model.inputs),
        "output_class": data_class(operands[index].type for index in model.outputs),
        "control_flow": any(call.code in CONTROL_FLOW for call in model.operations),
        "dynamic": any(o.lifetime == Lifetime.TEMPORARY and not o.type.is_known for o in operands),
    }


@dataclass
class Diagnostics:
    """The registered callbacks. Safe to use from several threads."""

    handles: dict[str, Handles]
    session: int = field(default_factory=lambda: random.SystemRandom().randrange(1, 1 << 31))
    _listeners: list[tuple[Any, Any, Any]] = field(default_factory=list)
    _described: WeakKeyDictionary[Model, dict[str, Any]] = field(default_factory=WeakKeyDictionary)

    def register(self, compiled: Any, ran: Any, context: Any) -> None:
        self._listeners = [*self._listeners, (compiled, ran, context)]

    @property
    def is_watching(self) -> bool:
        return bool(self._listeners)

    def watch(self, name: str, call: Call) -> Call | None:
        """Return a function that calls the exported one and reports the outcome; None for functions not watched."""
        if name == "ANeuralNetworksCompilation_finish":
            return lambda handle: self._finish(call, handle)
        if name in MODES:
            return lambda handle, *others: self._run(call, MODES[name], handle, *others)
        return None

    def _finish(self, call: Call, handle: int) -> int:
        compilation = self.handles["Compilation"].find(handle)  # the call itself reports an unknown handle
        begin = time.monotonic_ns()
        code = call(handle)
        if compilation is not None:
            spent = NOT_MEASURED if code else time.monotonic_ns() - begin
            self._notify(0, compilation, code, Mode.UNKNOWN, [spent, 0, 0])
        return code

    def _run(self, call: Call, mode: Mode, handle: int, *others: Any) -> int:
        """Run a computation and report its end; one that fails to start is reported at once."""
        execution = self.handles["Execution"].find(handle)
        begin = time.monotonic_ns()
        code = call(handle, *others)
        if execution is not None and (code or mode in (Mode.SYNC, Mode.BURST)):
            self._notify_run(execution, code, mode, begin)
        elif execution is not None:
            event = self.handles["Event"][others[-1][0]]
            event.call_when_done(
                lambda error: self._notify_run(execution, int(error.code) if error else 0, mode, begin)
            )
        return code

    def _notify_run(self, execution: Execution, code: int, mode: Mode, begin: int) -> None:
        spent = NOT_MEASURED if code else time.monotonic_ns() - begin
        kinds = DurationCode.DURATION_IN_DRIVER, DurationCode.DURATION_ON_HARDWARE
        times = [spent, *(_read_duration(execution, kind) for kind in kinds)]
        self._notify(1, execution.compilation, code, mode, times)

    def _notify(self, which: int, compilation: Compilation, code: int, mode: Mode, times: Sequence[int]) -> None:
        """Call the registered callbacks: those for compilations (``which`` 0) or executions (1)."""
        kind = ("Compilation", "Execution")[which]
        devices = compilation.devices or compilation.candidates
        names = ffi.new("char[]", ",".join(f"{device.name}={device.version}" for device in devices).encode())
        model = compilation.model
        described = self._described[model] = self._described.get(model) or describe(model)
        said = ffi.new(
            "struct nnapi_diagnosis*",
            {
                "session": self.session,
                "version": int(FeatureLevelCode.FEATURE_LEVEL_8),
                "error": code,
                "mode": mode,
                "times": times,
                "devices": names,
                "caching": compilation._cache is not None,
                **described,
            },
        )
        info = ffi.cast(f"ANeuralNetworksDiagnostic{kind}Info*", said)
        for *callbacks, context in self._listeners:
            if callbacks[which]:
                callbacks[which](context, info)


def _read_duration(execution: Execution, kind: DurationCode) -> int:
    try:
        duration = execution.duration(kind)
    except NnapiError:
        return NOT_MEASURED
    return NOT_MEASURED if duration is None else duration
