"""Inputs and outputs that programs bind before a run."""

from collections.abc import Mapping, Sequence
from ctypes import c_char
from typing import Any, Protocol

import numpy as np

from nnapi.model.operand import Array
from nnapi.onnx.failures import InvalidArgument
from nnapi.onnx.ort_value import OrtValue, dtype_from, need_host


class Runs(Protocol):
    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any]) -> list[Array]:
        """Run the model and return the named outputs."""
        ...


class IOBinding:
    """The inputs and outputs of ``session.run_with_iobinding``."""

    def __init__(self, session: Runs) -> None:
        self._session = session
        self.inputs: dict[str, Array] = {}
        self.outputs: dict[str, OrtValue | None] = {}
        """The bound outputs by name; None if the run allocates the memory."""
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, array: Array) -> None:
        self.inputs[name] = array

    def bind_ortvalue_input(self, name: str, value: OrtValue) -> None:
        self.inputs[name] = value.view()

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Bind an input to the program's memory, which must outlive the binding. ``element_type`` is a NumPy type or a
        value of TensorProto.DataType."""
        need_host(device_type)
        self.inputs[name] = _at(buffer_ptr, element_type, shape)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Bind an output to the program's memory; without ``buffer_ptr``, to new memory at each run."""
        need_host(device_type)
        self.outputs[name] = None if buffer_ptr is None else OrtValue(_at(buffer_ptr, element_type, shape or ()))

    def bind_ortvalue_output(self, name: str, value: OrtValue) -> None:
        self.outputs[name] = value

    def clear_binding_inputs(self) -> None:
        self.inputs.clear()

    def clear_binding_outputs(self) -> None:
        self.outputs.clear()

    def synchronize_inputs(self) -> None:
        """Do nothing, because all memory is the host's."""

    def synchronize_outputs(self) -> None:
        """Do nothing, like :meth:`synchronize_inputs`."""

    def run(self) -> None:
        results = self._session.run(list(self.outputs), self.inputs)
        self._results = []
        for (name, bound), result in zip(self.outputs.items(), results, strict=True):
            if bound is None:
                bound = OrtValue(result)
            elif (bound.view().dtype, bound.view().shape) != (result.dtype, result.shape):
                raise InvalidArgument(f"{name} is {result.dtype}{list(result.shape)}, what is bound {bound.shape()}")
            else:
                bound.update_inplace(result)
            self._results.append(bound)

    def get_outputs(self) -> list[OrtValue]:
        """Return the outputs of the last run, in the order in which they were bound."""
        return self._results

    def copy_outputs_to_cpu(self) -> list[Array]:
        """Return copies of the outputs."""
        return [value.numpy() for value in self._results]


def _at(address: int, element_type: Any, shape: Sequence[int]) -> Array:
    dtype = dtype_from(element_type)
    length = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    return np.frombuffer(memoryview((c_char * length).from_address(address)), dtype).reshape(shape)
