"""Use another engine as a device: it runs each model from a file in the engine's format."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import nnapi
from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import ENGINE, Capabilities, DeviceInfo, Outcome, PrepareOptions, Request, Verdict
from nnapi.drivers.litert.quiet import hide_delegate_message
from nnapi.errors import BadDataError, OpFailedError, need_value
from nnapi.model.operand import Array, OperandType
from nnapi.report.engines import OTHERS, Engine, Nnapi, Run, UnsuitableError
from nnapi.runtime.choice.judge import Distance
from nnapi.runtime.device import REFERENCE
from nnapi.store.temporary import temporary_folder
from nnapi.testing.divergence import measure_outputs

SUFFIXES = {"litert": ".tflite", "onnxruntime": ".onnx"}
"""The other engines, and their file formats."""
READ_AGAIN = {".tflite": Nnapi((REFERENCE,)), ".onnx": Nnapi((REFERENCE,))}
"""The reference, on a file that nnapi has written and reads again, by the file's format."""


def open_engine(name: str) -> nnapi.Device:
    """Return the device of an engine in SUFFIXES, or of the format of a file to read again; ImportError without it."""
    if name in READ_AGAIN:
        return nnapi.Device(FileDriver(READ_AGAIN[name], name))
    return nnapi.Device(FileDriver(OTHERS[name], SUFFIXES[name]))


class FileDriver:
    """A driver that accepts all operations of a model or none; ``suffix`` is the format of the files."""

    is_measured = False

    def __init__(self, engine: Engine, suffix: str) -> None:
        self._engine, self._suffix = engine, suffix
        self.info = DeviceInfo(engine.name, engine.version(), DeviceTypeCode.DEVICE_OTHER, 8)

    def capabilities(self) -> Capabilities:
        return ENGINE

    def verdicts(self, model: nnapi.Model) -> Sequence[Verdict]:
        reason = ""
        try:
            self._open(model)
        except (BadDataError, UnsuitableError) as refused:
            reason = str(refused)
        return [Verdict(not reason, reason)] * len(model.operations)

    def prepare(self, model: nnapi.Model, options: PrepareOptions) -> "PreparedFile":
        try:
            return PreparedFile(self._open(model), [model.operands[index].type for index in model.outputs])
        except UnsuitableError as error:
            raise OpFailedError(str(error)) from None

    def _open(self, model: nnapi.Model) -> Run:
        with temporary_folder() as folder:
            nnapi.export(model, path := Path(folder) / f"model{self._suffix}")
            with hide_delegate_message():
                (run,) = self._engine.open(path, 1).prepare(1)
        return run


def measure_file(
    engine: Engine, file: Path, model: nnapi.Model, inputs: Sequence[Array | None], base: nnapi.Device | str = REFERENCE
) -> Distance:
    """Return the distance of an engine's outputs for a file from a device's outputs. Raises UnsuitableError, or
    ValueError if the outputs have other shapes."""
    with hide_delegate_message():
        (run,) = engine.open(file, 1).prepare(1)
    found = run([array for array in inputs if array is not None])
    return measure_outputs(model, nnapi.compile(model, base).run(*inputs), found)


class PreparedFile:
    def __init__(self, run: Run, types: Sequence[OperandType]) -> None:
        self._run, self._types = run, types

    def execute(self, request: Request) -> Outcome:
        outputs = self._run([need_value(array, "an input of the operation is omitted") for array in request.inputs])
        return Outcome([np.array(array, type.dtype) for array, type in zip(outputs, self._types, strict=True)])

    def close(self) -> None:
        """Do nothing: the last reference releases the file."""
