"""LiteRT's CompiledModel on NNAPI devices."""

import os
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, Self, TypeAlias, TypeVar

from ai_edge_litert import compiled_model as litert
from ai_edge_litert.compiled_model import CpuOptions, HardwareAccelerator, Options, TensorBuffer

from nnapi.codes import DeviceTypeCode
from nnapi.errors import NnapiError
from nnapi.formats.tflite.reader import Subgraph
from nnapi.litert.interpreter import Interpreter
from nnapi.litert.session import Session
from nnapi.litert.tensor_buffer import ArrayBuffer, describe_array, find_elements
from nnapi.model.operand import Array
from nnapi.runtime.device import Device, list_candidates

PLACEHOLDER = "<placeholder signature>"
"""LiteRT's signature key for a model without signatures."""
Tensors = Mapping[str, int]
"""Tensor indices of inputs or outputs by name, in the order of the subgraph."""


class Signature:
    """A subgraph with a key. ``inputs`` and ``outputs`` map names to tensor indices, in the subgraph's order."""

    def __init__(self, key: str, session: Session, graph: Subgraph, inputs: Tensors, outputs: Tensors) -> None:
        self.key, self.session, self.inputs, self.outputs = key, session, inputs, outputs
        self._tensors = graph.tensors

    def list_inputs(self) -> dict[str, Array]:
        """Return the input arrays of the prepared graph, by name."""
        held = self.session.allocate().inputs
        return {name: held[index] for name, index in self.inputs.items()}

    def list_outputs(self) -> dict[str, Array]:
        """Return the latest results by name; zeros before the first run."""
        graph = self.session.allocate()
        return {name: graph.results[graph.positions[index]] for name, index in self.outputs.items()}

    def describe(self, tensors: Tensors, arrays: Mapping[str, Array]) -> dict[str, dict[str, Any]]:
        """Return a dictionary for each input or output, by name: the tensor's name and index, dtype and shape."""
        named = {name: {"name": self._tensors[index].name, "index": index} for name, index in tensors.items()}
        return {name: named[name] | describe_array(array) for name, array in arrays.items()}

    def resize(self, name: str, shape: Sequence[int], *, strict: bool) -> None:
        try:
            if min(shape, default=1) < 1:
                raise ValueError("dimensions must be positive")
            self.session.resize(self.inputs[name], shape, strict)
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(f"input {name} cannot be resized to {[*shape]}: {error}") from error

    def run(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Run on LiteRT's buffers, in the subgraph's order. An input of another size resizes the subgraph."""
        if len(inputs) != len(self.inputs) or len(outputs) != len(self.outputs):
            counts = f"{len(self.inputs)} input and {len(self.outputs)} output buffers"
            raise RuntimeError(f"signature {self.key} takes {counts}, not {len(inputs)} and {len(outputs)}")
        given = [find_elements(buffer) for buffer in inputs]
        memory = self.list_inputs().values()
        if [array.size for array in given] != [array.size for array in memory]:
            for name, array, tensor in zip(self.inputs, given, memory, strict=True):
                if array.size != tensor.size:
                    self.resize(name, array.shape, strict=True)
            memory = self.list_inputs().values()
        for name, array, tensor in zip(self.inputs, given, memory, strict=True):
            _check_type(name, array, tensor)
            tensor[...] = array if array.shape == tensor.shape else array.reshape(tensor.shape)
        graph = self.session.allocate()
        try:
            results = graph.run()
        except NnapiError as error:
            raise RuntimeError(str(error)) from error
        for buffer, (name, index) in zip(outputs, self.outputs.items(), strict=True):
            result, array = results[graph.positions[index]], find_elements(buffer)
            _check_type(name, array, result)
            if isinstance(buffer, ArrayBuffer) and array.shape == result.shape:
                array[...] = result
            else:
                buffer.write(result)


def list_signatures(interpreter: Interpreter) -> list[Signature]:
    """Return the signatures of a file; without any, a placeholder with the main subgraph's tensor names."""
    file, found = interpreter.file.read(), []
    for number, (key, *named) in file.signatures():
        graph = file.subgraph(number)
        inputs, outputs = (
            {name: indices[position] for name, position in sorted(names, key=itemgetter(1))}
            for names, indices in zip(named, (graph.inputs, graph.outputs), strict=True)
        )
        found.append(Signature(key, interpreter.session(number), graph, inputs, outputs))
    if not found:
        graph = file.subgraph(0)
        inputs, outputs = ({graph.tensors[n].name: n for n in indices} for indices in (graph.inputs, graph.outputs))
        found.append(Signature(PLACEHOLDER, interpreter.session(0), graph, inputs, outputs))
    return found


def _check_type(name: str, given: Array, expected: Array) -> None:
    if given.dtype != expected.dtype:
        raise RuntimeError(f"the buffer of {name} holds {given.dtype}, must hold {expected.dtype}")


__all__ = ["CompiledModel", "CpuOptions", "HardwareAccelerator", "Options", "TensorBuffer"]

CPU, GPU, NPU = HardwareAccelerator
Accelerator: TypeAlias = "HardwareAccelerator | None"
V = TypeVar("V")
ON_PROCESSOR = "-cpu"
"""Suffix of devices of type ACCELERATOR that compute on the CPU, such as xnnpack-cpu."""
HOST_MEMORY = 1
"""LiteRT's number for host memory, the type of buffers that it shares with NumPy."""


class CompiledModel(litert.CompiledModel):  # type: ignore[misc]  # LiteRT has no types
    """A .tflite file compiled for accelerators. The methods are LiteRT's, except :meth:`explain`. They raise
    RuntimeError for a name or an index that does not exist."""

    def __init__(self, source: str | bytes, options: Options, environment: Any, **choices: Any) -> None:
        super().__init__([], environment)
        self._asked = HardwareAccelerator(options.hardware_accelerators)
        self._refusals: list[str] = []
        self._model = self._prepare(source, options.cpu_options.num_threads or None, **choices)

    @classmethod
    def from_file(
        cls,
        model_path: str,
        hardware_accel: Accelerator = None,
        environment: Any = None,
        options: Any = None,
        **choices: Any,
    ) -> Self:
        """Compile a file as LiteRT does. GPU and NPU select devices of these types, CPU the engines on the processor.
        Of ``options``, only the accelerators and the CPU's ``num_threads`` have an effect; ``environment`` has none.

        In addition, ``devices`` names the devices to choose from; ``cache`` is a directory as for
        :func:`nnapi.compile`. With CPU and ``fallback``, the default, LiteRT runs models that NNAPI cannot express;
        else they raise RuntimeError.
        """
        return cls(os.fspath(model_path), _resolve(options, hardware_accel), environment, **choices)

    @classmethod
    def from_buffer(
        cls,
        model_data: bytes,
        hardware_accel: Accelerator = None,
        environment: Any = None,
        options: Any = None,
        **choices: Any,
    ) -> Self:
        """Compile the content of a file, as :meth:`from_file` does."""
        return cls(bytes(model_data), _resolve(options, hardware_accel), environment, **choices)

    def explain(self) -> str:
        """Explain which devices each accelerator has, which of them runs which operation, and why."""
        asked = f"asked for {self._asked.name}, {'' if self.is_fully_accelerated() else 'not '}fully accelerated"
        found = [f"{each.name}: {', '.join(_list_devices(each)) or 'no device'}" for each in HardwareAccelerator]
        graphs = [f"signature {each.key}\n{each.session.allocate().explain()}" for each in self._open()]
        return "\n\n".join(("\n".join((asked, *found, *self._refusals)), *graphs))

    def is_fully_accelerated(self) -> bool:
        """Return whether the requested accelerators run all operations; CPU counts only if it is the only one."""
        used = {name for each in self._open() for name in each.session.allocate().devices}
        return bool(used) and used <= {*_list_devices(self._asked & ~CPU or CPU)}

    def get_signature_list(self) -> dict[str, dict[str, list[str]]]:
        return {each.key: {"inputs": [*each.inputs], "outputs": [*each.outputs]} for each in self._open()}

    def get_signature_by_index(self, index: int) -> dict[str, Any]:
        key = self._at(index).key
        return {"key": key, **self.get_signature_list()[key]}

    def get_num_signatures(self) -> int:
        return len(self._open())

    def get_signature_index(self, key: str) -> int:
        """Return the index of a signature by key; -1 if no signature has it."""
        return next((n for n, each in enumerate(self._open()) if each.key == key), -1)

    def get_input_tensor_details(self, signature_key: str) -> dict[str, Any]:
        signature = self._named(signature_key)
        return signature.describe(signature.inputs, signature.list_inputs())

    def get_output_tensor_details(self, signature_key: str) -> dict[str, Any]:
        signature = self._named(signature_key)
        return signature.describe(signature.outputs, signature.list_outputs())

    def get_input_buffer_requirements(self, input_index: int, signature_index: int = 0) -> dict[str, Any]:
        return _require(self.create_input_buffers(signature_index), input_index, "input")

    def get_output_buffer_requirements(self, output_index: int, signature_index: int = 0) -> dict[str, Any]:
        return _require(self.create_output_buffers(signature_index), output_index, "output")

    def create_input_buffer_by_name(self, signature_key: str, input_name: str) -> ArrayBuffer:
        return ArrayBuffer(_pick(self._named(signature_key).list_inputs(), input_name, "input"))

    def create_output_buffer_by_name(self, signature_key: str, output_name: str) -> ArrayBuffer:
        return ArrayBuffer(_pick(self._named(signature_key).list_outputs(), output_name, "output"))

    def create_input_buffers(self, signature_index: int = 0) -> list[ArrayBuffer]:
        return [ArrayBuffer(array) for array in self._at(signature_index).list_inputs().values()]

    def create_output_buffers(self, signature_index: int = 0) -> list[ArrayBuffer]:
        return [ArrayBuffer(array) for array in self._at(signature_index).list_outputs().values()]

    def resize_input_tensor(
        self, input_index: int, dims: Sequence[int], signature_index: int = 0, strict: bool = True
    ) -> None:
        signature = self._at(signature_index)
        signature.resize(_pick([*signature.inputs], input_index, "input"), dims, strict=strict)

    def run_by_name(self, signature_key: str, input_map: Mapping[str, Any], output_map: Mapping[str, Any]) -> None:
        """Run as LiteRT does, but require a buffer for each input and output."""
        signature = self._named(signature_key)
        inputs = [_pick(input_map, name, "buffer for input") for name in signature.inputs]
        signature.run(inputs, [_pick(output_map, name, "buffer for output") for name in signature.outputs])

    def run_by_index(self, signature_index: int, input_buffers: Sequence[Any], output_buffers: Sequence[Any]) -> None:
        self._at(signature_index).run(input_buffers, output_buffers)

    def _at(self, index: int) -> Signature:
        return _pick(self._open(), index, "signature")

    def _named(self, key: str) -> Signature:
        return _pick({each.key: each for each in self._open()}, key, "signature")

    def _open(self) -> list[Signature]:
        """Return the signatures; raise RuntimeError if the model is closed."""
        if self._model is None:
            raise RuntimeError("the model is closed")
        return self._model

    def _prepare(
        self,
        source: str | bytes,
        threads: int | None,
        *,
        devices: Sequence[str] | str | None = None,
        fallback: bool = True,
        cache: Any = None,
    ) -> list[Signature]:
        """Compile all signatures for the requested accelerators other than CPU. If these do not run all of the model,
        compile again with CPU, if requested."""
        path, content = (source, None) if isinstance(source, str) else (None, source)
        wanted = _find_named([devices] if isinstance(devices, str) else devices)
        for accelerators in dict.fromkeys((self._asked & ~CPU or CPU, self._asked)):
            names = _list_devices(accelerators, wanted)
            options = {"devices": names, "fallback": fallback and CPU in accelerators, "cache": cache}
            try:
                signatures = list_signatures(Interpreter(path, content, num_threads=threads, **options))
            except (NnapiError, OSError, ValueError) as error:
                raise RuntimeError(f"{path or 'the model'} cannot be loaded: {error}") from error
            try:
                if not names:
                    raise RuntimeError("there is no such device")
                for each in signatures:
                    each.session.allocate()
                return signatures
            except RuntimeError as error:
                self._refusals.append(f"{accelerators.name} alone does not run the model: {error}")
        hint = "" if CPU in self._asked else ". HardwareAccelerator.CPU lets the CPU compute the rest"
        raise RuntimeError(f"{self._refusals[-1]}{hint}")


def _resolve(options: Options | None, accelerators: HardwareAccelerator | None) -> Options:
    if options is not None and accelerators is not None:
        raise ValueError("Pass either options or hardware_accel, not both.")
    options = options or Options(CPU if accelerators is None else accelerators)
    if not options.hardware_accelerators:
        raise RuntimeError("no accelerator is asked for: pass at least HardwareAccelerator.CPU")
    return options


def _find_named(names: Sequence[str] | None) -> list[str] | None:
    """Return the names of devices; raise RuntimeError for a name that no device has."""
    try:
        return None if names is None else [device.name for device in list_candidates(names)]
    except NnapiError as error:
        raise RuntimeError(str(error)) from error


def _list_devices(accelerators: HardwareAccelerator, names: Sequence[str] | None = None) -> list[str]:
    """Return the names of the devices of these accelerators, limited to ``names`` if given."""
    found = [device.name for device in list_candidates(None) if _find_accelerator(device) in accelerators]
    return [name for name in found if names is None or name in names]


def _find_accelerator(device: Device) -> HardwareAccelerator:
    if device.type == DeviceTypeCode.DEVICE_GPU:
        return GPU
    is_npu = device.type == DeviceTypeCode.DEVICE_ACCELERATOR and not device.name.endswith(ON_PROCESSOR)
    return NPU if is_npu else CPU


def _require(buffers: Sequence[ArrayBuffer], index: int, noun: str) -> dict[str, Any]:
    return {"buffer_size": _pick(buffers, index, noun).array.nbytes, "supported_types": [HOST_MEMORY]}


def _pick(found: Sequence[V] | Mapping[str, V], key: Any, noun: str) -> V:
    """Return an item of a sequence or mapping; raise RuntimeError if there is none."""
    keys = found if isinstance(found, Mapping) else range(len(found))
    if key not in keys:
        raise RuntimeError(f"there is no {noun} {key!r}, only {', '.join(map(str, keys)) or 'none'}")
    return found[key]
