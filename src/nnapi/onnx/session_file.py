"""An ONNX file as a session describes it, and its model for static dimensions."""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from nnapi.errors import BadDataError, NnapiError
from nnapi.importers.import_cache import load_for
from nnapi.importers.onnx import read_file
from nnapi.importers.onnx.dynamic_import import Imports
from nnapi.importers.onnx.map_and_text_outputs import Keys, list_map_keys, list_texts
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.tensors import DTYPES, NAMES
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.model.dynamic_model import PaddedModel, SizedModel
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Shape
from nnapi.onnx import failures
from nnapi.onnx.failures import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile
from nnapi.onnx.options import SessionOptions
from nnapi.onnx.ort_value import TYPES

INTEGERS = ("tensor(int32)", "tensor(int64)")

UNVERSIONED = (1 << 63) - 1
"""The version that ONNX Runtime reports for a model without one."""

CONSTANTS_FILE = "session.optimized_model_external_initializers_file_name"
LEAST_BYTES = "session.optimized_model_external_initializers_min_size_in_bytes"
"""Entries of the session's options for the model that it writes."""


class NodeArg(NamedTuple):
    """An input or output. A dimension is its size, its name in the file, or None."""

    name: str
    type: str
    shape: list[int | str | None]
    is_ranked: bool = True


class ModelMetadata(NamedTuple):
    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


class SessionFile:
    def __init__(self, source: str | os.PathLike[str] | bytes, options: SessionOptions) -> None:
        self._path = "model" if isinstance(source, bytes) else os.fspath(source)
        try:
            if isinstance(source, bytes):
                memory = Memory.from_array(np.frombuffer(source, np.uint8))
            else:
                memory = Memory.from_file(source)
            self._file = File(memory, self._path)
            self._imports = Imports(self._file, self._path, {})
            self._memory, self._is_changed = memory, bool(options.initializers)
        except FileNotFoundError as error:
            raise NoSuchFile(f"there is no file {self._path}") from error
        except BadDataError as error:
            raise InvalidProtobuf(f"{self._path}: {error}") from error
        except (NnapiError, OSError) as error:
            raise Fail(f"{self._path}: {error}") from error
        graph = self._file.proto.graph
        _fix_dimensions(graph, options)
        _replace_constants(graph, options)
        inputs = self._file.inputs
        self.inputs = [_describe(each) for each in inputs]
        self.texts = {name: np.array(each, object) for name, each in list_texts(graph).items()}
        """The labels whose numbers the model gives, by the output's name."""
        keys = list_map_keys(graph)
        self.maps = {name: sorted(zip(each, count())) for name, each in keys.items()}  # count has no end
        """The keys of the maps that a run returns for each row of an output, in order, with the keys' columns; by the
        output's name."""
        self.outputs = [_describe(each, keys.get(each.name)) for each in graph.output]
        self.overridable = [_describe(each) for each in graph.input if each not in inputs]
        has_branches = any(each.op_type == "If" for each in graph.node)
        self.choices = [i for i, each in enumerate(self.inputs) if has_branches and _may_choose(each)]
        """Positions of the inputs whose values may choose a branch."""

    @property
    def metadata(self) -> ModelMetadata:
        proto = self._file.proto
        return ModelMetadata(
            proto.producer_name,
            proto.graph.name,
            proto.domain,
            proto.doc_string,
            proto.graph.doc_string,
            proto.model_version if proto.HasField("model_version") else UNVERSIONED,
            {each.key: each.value for each in proto.metadata_props},
        )

    def model(self, shapes: Sequence[Shape], values: Sequence[int] = (), *, is_cached: bool = True) -> Model:
        """Return the model for these input shapes, from the cache if ``is_cached``; ``values`` make the inputs of
        ``choices`` constants.

        Raises BranchNotImplemented if NNAPI cannot express only branches, which ``values`` may rule out.
        """
        fixed = {
            argument.name: shape
            for argument, shape in zip(self.inputs, shapes, strict=True)
            if not is_static(argument) and shape
        }
        names = [self.inputs[i] for i in self.choices]
        constants = {each.name: np.array(value, dtype_of(each)) for each, value in zip(names, values, strict=False)}
        read = partial(self._imports.read, fixed)
        if constants or not fixed:
            read = partial(read_file, self._file, self._path, fixed, constants)
        try:
            if self._is_changed or not is_cached:
                return read()
            return load_for(self._memory, self._path, f"{shapes} {values}" if values else str(shapes), read)
        except UnsupportedOperationsError as error:
            may_be_chosen = not values and self.choices and all(each.operation == "If" for each in error.refusals)
            kind = failures.BranchNotImplemented if may_be_chosen else failures.NotImplemented
            raise kind(str(error)) from error
        except NnapiError as error:
            raise Fail(f"{self._path}: {error}") from error

    def describe_padded(self, padded: tuple[Shape, ...], run: tuple[Shape, ...]) -> PaddedModel | None:
        """Return the model for the padded inputs of a run, with further inputs that padding must not change; None
        without any."""
        return self._imports.read_padded([argument.name for argument in self.inputs], padded, run)

    def describe_sized(self, run: tuple[Shape, ...]) -> SizedModel | None:
        """Return the model whose dimensions are sizes, which holds for the shapes of a run; None if none holds."""
        return self._imports.read_sized([argument.name for argument in self.inputs], run)

    @property
    def reimports(self) -> Sequence[str]:
        """Return why an import for some sizes did not hold for others."""
        return self._imports.reasons

    def write(self, options: SessionOptions) -> None:
        """Write the imported model as an .onnx file, with large constants in a second file if the options say so.

        The file itself is written if NNAPI can express it only for the shapes of a run.
        """
        path, beside = options.optimized_model_filepath, options.entries.get(CONSTANTS_FILE)
        import onnx  # on demand: few sessions write their model

        from nnapi.exporters import export

        try:
            export(read_file(self._file, self._path), path)
        except UnsupportedOperationsError:
            proto = onnx.ModelProto()
            proto.ParseFromString(self._file.proto.SerializeToString())
            onnx.load_external_data_for_model(proto, os.path.dirname(self._path))
            onnx.save_model(proto, path)
        except NnapiError as error:
            raise Fail(f"{path}: {error}") from error
        if beside:
            with suppress(FileNotFoundError):
                os.remove(os.path.join(os.path.dirname(path), beside))
            least = int(options.entries.get(LEAST_BYTES, 1024))
            onnx.save_model(onnx.load(path), path, save_as_external_data=True, location=beside, size_threshold=least)


def is_static(argument: NodeArg) -> bool:
    return argument.is_ranked and all(isinstance(each, int) for each in argument.shape)


def _may_choose(argument: NodeArg) -> bool:
    return argument.is_ranked and not argument.shape and argument.type in ("tensor(bool)", *INTEGERS)


DTYPE_OF = {name: DTYPES[elem] for elem, name in TYPES.items()}


def dtype_of(argument: NodeArg) -> np.dtype[Any]:
    found = DTYPE_OF.get(argument.type)
    if found is None:
        raise InvalidArgument(f"{argument.name} is a {argument.type}, which NNAPI does not have")
    return found


def _fix_dimensions(graph: Any, options: SessionOptions) -> None:
    for info in (*graph.input, *graph.output):
        for each in info.type.tensor_type.shape.dim:
            size = options.dimensions.get(each.dim_param) or options.denotations.get(each.denotation)
            if size and not each.HasField("dim_value"):
                each.dim_value = size


def _replace_constants(graph: Any, options: SessionOptions) -> None:
    """Replace constants by those in the options; raise InvalidArgument if type or shape differ."""
    for each in graph.initializer:
        value = options.initializers.get(each.name)
        if value is None:
            continue
        if (value.element_type(), value.shape()) != (each.data_type, [*each.dims]):
            had = f"{TYPES.get(each.data_type)} {[*each.dims]}"
            raise InvalidArgument(f"{each.name} is {had}, the given value is {value.data_type()} {value.shape()}")
        each.ClearField("external_data")
        each.ClearField("data_location")
        for name in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
            each.ClearField(name)
        each.raw_data = value.view().tobytes()


def _describe(info: Any, keys: Keys | None = None) -> NodeArg:
    kind = info.type.WhichOneof("value")
    if keys:
        return NodeArg(info.name, f"seq(map({'string' if isinstance(keys[0], str) else 'int64'},tensor(float)))", [])
    if kind != "tensor_type":
        return NodeArg(info.name, str(kind).removesuffix("_type"), [])
    declared = info.type.tensor_type
    shape: list[int | str | None] = [
        each.dim_value if each.HasField("dim_value") and each.dim_value >= 0 else each.dim_param or None
        for each in declared.shape.dim
    ]
    name = NAMES[declared.elem_type] if 0 <= declared.elem_type < len(NAMES) else str(declared.elem_type)
    return NodeArg(info.name, f"tensor({name.lower()})", shape, declared.HasField("shape"))
