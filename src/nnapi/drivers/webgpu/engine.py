"""LiteRT's CompiledModel on its WebGPU accelerator, for one thread at a time. It may end or hang the process."""

import time
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import ai_edge_litert
import numpy as np
from ai_edge_litert.compiled_model import CompiledModel, Environment, EnvironmentOptions, GpuOptions, Options
from ai_edge_litert.hardware_accelerator import HardwareAccelerator

from nnapi.contract.prepared import EngineTimer
from nnapi.errors import OpFailedError
from nnapi.host.engine_output import Output, collect_output
from nnapi.locks import make_lock
from nnapi.model.operand import Array, Shape
from nnapi.trace.log import Log

log = Log("nnapi.Driver")

FLIP = np.uint8(128)
"""XOR mask that converts unsigned 8-bit values to signed ones and back."""
SLOW = 60.0
"""Seconds from which a failed start is blamed on compiling shaders, for which the engine waits four minutes."""
STARTS = 3
"""Maximum number of starts. Each finds the shaders that earlier starts compiled."""
NOT_ACCELERATED = "the accelerator does not take the whole model"
INVALID = "Validation error"

_turn = make_lock()


@cache
def _environment() -> Environment:
    """Return the environment, with its GPU device, for all models of the process."""
    return Environment.create(options=EnvironmentOptions(runtime_path=str(Path(ai_edge_litert.__file__).parent)))


class TensorBuffer:
    """A buffer of an input or output, read and written in the caller's element type."""

    def __init__(self, buffer: Any, dtype: np.dtype[Any], shape: Shape, is_flipped: bool) -> None:
        self.buffer, self._dtype, self._shape, self._is_flipped = buffer, dtype, shape, is_flipped

    def write(self, array: Array | None) -> None:
        if array is None or array.shape != self._shape:
            given = "omitted" if array is None else f"of shape {list(array.shape)}"
            raise OpFailedError(f"an input is {given}, the model was prepared for {list(self._shape)}")
        self.buffer.write((array ^ FLIP).view(np.int8) if self._is_flipped else array)

    def zeros(self) -> Array:
        return np.zeros(self._shape, np.uint8 if self._is_flipped else self._dtype)

    def read(self) -> Array:
        array: Array = self.buffer.read(int(np.prod(self._shape)), self._dtype).reshape(self._shape)
        return array.view(np.uint8) ^ FLIP if self._is_flipped else array


class Instance:
    def __init__(self, content: bytes, flipped: Sequence[bool], relaxed: bool) -> None:
        """``flipped`` is as in :class:`SerializedGraph`; ``relaxed`` permits float16. Sets ``said`` to the engine's
        output."""
        said = Output()
        with _turn:
            for left in reversed(range(STARTS)):
                begin = time.monotonic()
                try:
                    with collect_output(said):
                        self._make(content, flipped, relaxed)
                    break
                except (RuntimeError, ValueError) as error:
                    seconds = time.monotonic() - begin
                    reason = explain(str(error), said.text)
                    if seconds < SLOW:
                        raise OpFailedError(reason) from None
                    reason += f", after {seconds:.0f} s in which it compiled shaders"
                    if not left:
                        raise OpFailedError(f"{reason}; the next compilation reuses them") from None
                    log.warning("%s; it is started again, with these shaders", reason)
        self.said = said.text
        if (start := said.text.find(INVALID)) >= 0:  # it continues with uninitialized memory
            raise OpFailedError(f"the accelerator refuses what it made itself: {said.text[start:].splitlines()[0]}")

    def _make(self, content: bytes, flipped: Sequence[bool], relaxed: bool) -> None:
        """Compile the file, and run it once on zeros, which compiles the shaders."""
        options = Options(HardwareAccelerator.GPU, gpu_options=GpuOptions(enforce_f32=not relaxed))
        model = self._model = CompiledModel.from_buffer(content, environment=_environment(), options=options)
        if not model.is_fully_accelerated():
            raise OpFailedError(NOT_ACCELERATED)
        self._buffers = model.create_input_buffers(0), model.create_output_buffers(0)
        (key,) = signatures = model.get_signature_list()
        details = {**model.get_input_tensor_details(key), **model.get_output_tensor_details(key)}
        names = [*signatures[key]["inputs"], *signatures[key]["outputs"]]
        buffers = [
            TensorBuffer(buffer, np.dtype(details[name]["dtype"]), tuple(details[name]["shape"]), flip)
            for buffer, name, flip in zip([*self._buffers[0], *self._buffers[1]], names, flipped, strict=True)
        ]
        count = len(self._buffers[0])
        self._inputs, self._outputs = buffers[:count], buffers[count:]
        self._compute([buffer.zeros() for buffer in self._inputs])

    def run(self, inputs: Sequence[Array | None], timer: EngineTimer | None = None) -> list[Array]:
        """Copy inputs to the buffers, run, and return copies of the outputs; ``timer`` measures the engine's call."""
        with _turn:
            try:
                return self._compute(inputs, timer)
            except (RuntimeError, ValueError) as error:
                raise OpFailedError(f"the accelerator failed: {error}") from None

    def _compute(self, inputs: Sequence[Array | None], timer: EngineTimer | None = None) -> list[Array]:
        for buffer, array in zip(self._inputs, inputs, strict=True):
            buffer.write(array)
        with timer or nullcontext():
            self._model.run_by_index(0, *self._buffers)
        return [buffer.read() for buffer in self._outputs]


def explain(failure: str, output: str) -> str:
    """Return why the accelerator refuses a model, from its error and its output."""
    lines = [line.strip() for line in output.splitlines()]
    for number, line in enumerate(lines):
        if "not supported by GPU delegate" in line:
            reasons = lines[number + 1 :]
            end = next(
                (i for i, reason in enumerate(reasons) if not reason or "will run on the" in reason), len(reasons)
            )
            return f"{NOT_ACCELERATED}: {'; '.join(reasons[:end])}"
    errors = [line.partition("] ")[2] for line in lines if line.startswith("ERROR: [") and "] " in line]
    return f"the accelerator refuses the model: {errors[-1] if errors else failure.splitlines()[-1].lstrip('└ ')}"
