"""The model: a graph of operands and operations (``ANeuralNetworksModel``), immutable once finished."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from nnapi.closeable import Closeable
from nnapi.codes import MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES, OEM_SCALAR, OperandCode
from nnapi.errors import BadDataError, BadStateError, UnexpectedNullError, need
from nnapi.model.constant import as_bytes, bind, can_change, map_value, need_size, need_value_size
from nnapi.model.extension import EXTENSIONS
from nnapi.model.graph import (
    Lifetime,
    Operand,
    OperationCall,
    Origin,
    Signature,
    StatePair,
    Supports,
    constants,
    need_distinct,
)
from nnapi.model.lifecycle import State
from nnapi.model.memory import Memory, mappings, need_memory, need_whole
from nnapi.model.nesting import list_nested
from nnapi.model.operand import Array, ChannelQuantization, OperandType, check_type
from nnapi.model.permissions import Permissions
from nnapi.model.precision import Precision
from nnapi.model.tensor_info import TensorInfo, describe_tensors
from nnapi.notebook_display import NotebookDisplay
from nnapi.trace import Layer, Phase, Section
from nnapi.trace.log import Log

if TYPE_CHECKING:
    from nnapi.model.borrowed_memory import BorrowedMemory
    from nnapi.model.matching import Facet, KnownMatch

__all__ = [
    "DYNAMIC_RANGE",
    "Lifetime",
    "Model",
    "Operand",
    "OperationCall",
    "Origin",
    "Signature",
    "Supports",
    "constants",
]

log = Log("nnapi.ModelBuilder")

DYNAMIC_RANGE = (
    "float operations may be computed with their quantized weights (dynamic range): their inputs are then rounded to "
    "8 bits over the range of each row, or of each image of a convolution: by at most 1/250 of that range"
)
CONSTANT, SUBGRAPH = Lifetime.CONSTANT, Lifetime.SUBGRAPH  # a member of an enumeration is slow to look up


LOADS = "nnapi.load() makes one of a file or of bytes"


class Model(Permissions, Closeable, NotebookDisplay):
    """Operands and operations, described call by call as in the C API (``ANeuralNetworksModel_create``).

    Where a C function returns an error code, its method raises the exception of that code. After :meth:`finish` the
    model can be shared by threads, compilations and other models; calls that would change it raise BadStateError. The
    ``name`` of a model or operand appears in messages and traces. :meth:`add_operand` numbers operands from 0. Methods
    with the argument ``allow`` give or withdraw a permission.
    """

    state: State

    def __init__(self, name: str = "model") -> None:
        super().__init__()
        self.name = name
        self.operands: Sequence[Operand] = []
        self.operations: Sequence[OperationCall] = []
        """The operations: in the order of the addOperation calls; after finish in run order."""
        self.inputs: tuple[int, ...] = ()
        self.outputs: tuple[int, ...] = ()
        self.empty_inputs: frozenset[int] = frozenset()
        """Inputs whose dimensions of 0 are static: they have no elements."""
        self.notes: tuple[str, ...] = ()
        """Messages about assumptions and changes that an importer made."""
        self.states: tuple[StatePair, ...] = ()
        """Values that bursts keep between their runs."""
        self.signature: Signature | None = None
        """Names of the model, its inputs and its outputs in the imported file."""
        self.origin: Origin | None = None
        self.borrowed: BorrowedMemory | None = None
        """The client's memory of constants; None if the model owns them or keeps their owner alive."""
        self.state = State("the model is", "building", building="finish() it first", invalid="build it again")
        self.known_matches: list[KnownMatch | None] = []
        self.used = 0
        self.is_altered = False
        """Whether an operand was changed after an operation that may use it was added."""

    # Describing

    def add_operand(self, type: OperandType, name: str = "") -> int:
        """Add an operand and return its index (``..._addOperand``); ``name`` appears in messages.

        Raises BadDataError for an invalid type.
        """
        return self._add_operand(type, name).index

    def add_constant(self, type: OperandType, array: Array, name: str = "") -> int:
        """Add an operand whose value is a mapped array of its dtype and dimensions; the array is not copied."""
        operand = self._add_operand(type, name)
        operand.lifetime, operand.in_memory, operand.value = CONSTANT, True, array
        return operand.index

    def set_operand_value(self, index: int, value: Any, length: int | None = None) -> None:
        """Make operand ``index`` a constant (``ANeuralNetworksModel_setOperandValue``).

        ``value`` is a number, bytes or an array of the operand's storage type; None omits the operand. ``length``,
        if given, must be the length of the value in bytes. Read-only arrays are not copied. Writable arrays are
        copied: at this call if they have at most 128 bytes, else at :meth:`finish`.
        """
        if value is None and length:
            raise UnexpectedNullError(f"no value, but a length of {length}, for operand {index}")
        operand = self._get_to_change(index, "set a value")
        if value is None:
            operand.lifetime, operand.value = Lifetime.NO_VALUE, None
            return
        array = as_bytes(operand, value)
        if length is not None and length != array.nbytes:
            raise BadDataError(f"length {length} of a value of {array.nbytes} bytes")
        need_value_size(operand, array.nbytes, self.empty_tensors)
        if array.nbytes <= MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES and can_change(array):
            array = array.copy()
        operand.lifetime, operand.in_memory, operand.value = CONSTANT, False, array

    def set_operand_value_from_memory(self, index: int, memory: Memory, offset: int, length: int) -> None:
        """Make a region of ``memory`` the value of operand ``index``, uncopied (``..._setOperandValueFromMemory``).

        ``offset`` and ``length`` are in bytes.
        """
        need_memory(memory, f"operand {index}")
        operand = self._get_to_change(index, "set a value")
        if operand.type.code == OEM_SCALAR:
            raise BadDataError(f"{operand} cannot live in a memory")
        need_size(operand, length)
        need(offset or length, "offset and length are both 0", BadDataError)
        memory.check_region(offset, length)
        operand.lifetime, operand.in_memory, operand.value = CONSTANT, True, (memory, offset, length)

    def set_operand_value_from_model(self, index: int, model: Model) -> None:
        """Let MODEL operand ``index`` refer to a finished ``model`` (``..._setOperandValueFromModel``)."""
        need(model is not None, "model is None", UnexpectedNullError)
        self.state.need("building", to="set a value")
        need(model.is_finished, f"the model referred to is {model.state}, not finished", BadStateError)
        operand = self._get_to_change(index, "set a value")
        operand.lifetime, operand.value = Lifetime.SUBGRAPH, model

    def set_operand_symm_per_channel_quant_params(self, index: int, channel_dim: int, scales: Sequence[float]) -> None:
        """Set ``scales`` of filter ``index`` along ``channel_dim`` (``..._setOperandSymmPerChannelQuantParams``)."""
        operand = self._get_to_change(index, "set scales")
        type = operand.type
        need(scales is not None, "scales are None", BadDataError)
        if type.code != OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL:
            raise BadDataError(f"{operand} is not TENSOR_QUANT8_SYMM_PER_CHANNEL")
        if not (0 <= channel_dim < type.rank):
            raise BadDataError(f"{operand} has no dimension {channel_dim}")
        dimension = type.dimensions[channel_dim]
        if not dimension:
            raise BadDataError(f"{operand} has an unknown dimension along dimension {channel_dim}")
        if len(scales) != dimension:
            raise BadDataError(f"{len(scales)} scales for {dimension} channels of {operand}")
        with np.errstate(over="ignore"):
            rounded = np.asarray(scales, np.float32)
        if not (rounded > 0).all():
            raise BadDataError(f"{operand} has a scale that is not above 0")
        operand.type = type.replace(channel=ChannelQuantization(int(channel_dim), tuple(rounded.tolist())))

    def set_operand_extension_data(self, index: int, data: bytes | None) -> None:
        """Copy ``data`` as parameters of extension operand ``index`` (``..._setOperandExtensionData``)."""
        operand = self._get_to_change(index, "set extension data")
        need(operand.type.is_extension, f"{operand} is not of an extension's type", BadDataError)
        need(data is None or len(data), f"empty extension data for {operand}", BadDataError)
        operand.type = operand.type.replace(data=b"" if data is None else bytes(data))

    def add_operation(self, code: int, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Append an operation on operand indices ``inputs`` and ``outputs`` (``ANeuralNetworksModel_addOperation``).

        Types, counts and ranks of operands are checked here, values by compilations and runs. Operations may be added
        in any order.
        """
        from nnapi.model.add_operation import (
            add_call,  # on demand: it imports the declarations of operations, which cached models do not need
        )

        add_call(self, code, inputs, outputs)

    def add_matched_operation(self, known: KnownMatch, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Append an operation; reuse its match ``known`` unless the operand types differ."""
        from nnapi.model.add_operation import add_call

        add_call(self, known.code, inputs, outputs, known)

    def identify_inputs_and_outputs(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Name the operands that are the model's inputs and outputs (``..._identifyInputsAndOutputs``)."""
        need(inputs is not None and outputs is not None, "inputs or outputs is None", UnexpectedNullError)
        self.state.need("building", to="identify inputs and outputs")
        need(len(inputs) and len(outputs), "a model needs at least one input and one output", BadDataError)
        for index in (*inputs, *outputs):
            self.need_operand(index)
        self.assign_roles(inputs, outputs)

    def assign_roles(self, inputs: Sequence[int], outputs: Sequence[int]) -> None:
        """Set the model's inputs and outputs; a partition may have no inputs."""
        for indices, role in ((inputs, Lifetime.INPUT), (outputs, Lifetime.OUTPUT)):
            for index in indices:
                operand = self.operands[index]
                free = operand.lifetime == Lifetime.TEMPORARY
                if not free:
                    raise BadDataError(f"{operand} is {operand.lifetime.value} already, cannot be {role.value}")
                operand.lifetime = role
        self.inputs, self.outputs = tuple(map(int, inputs)), tuple(map(int, outputs))

    @Section(Layer.RUNTIME, Phase.PREPARATION, "ANeuralNetworksModel_finish")
    def finish(self) -> None:
        """Validate and freeze the model (``ANeuralNetworksModel_finish``). After BadDataError, it stays invalid."""
        self.freeze()

    def freeze(self) -> None:
        """Finish without a trace entry; for models that are made during a compilation."""
        from nnapi.model.add_operation import order_calls

        self.state.need("building", to="finish")
        self.state.value = "invalid"
        for operand in self.operands:
            if operand.lifetime is CONSTANT:
                bind(operand)
        self.operations = order_calls(self)
        self.operands = tuple(self.operands)
        self.known_matches = []
        self.state.value = "finished"
        log.debug("finished %s: %d operands, %d operations", self.name, len(self.operands), len(self.operations))

    # Asking

    def extension_operand_type(self, extension: str, code: int) -> int:
        """Return the code of an extension's operand type (``..._getExtensionOperandType``), in any state."""
        return EXTENSIONS.type(extension, code)

    def extension_operation_type(self, extension: str, code: int) -> int:
        """Return the code of an extension's operation (``..._getExtensionOperationType``), in any state."""
        return EXTENSIONS.type(extension, code)

    @property
    def relaxed(self) -> bool:
        return self.precision is Precision.FLOAT16

    @property
    def is_finished(self) -> bool:
        return self.state.value == "finished"

    @property
    def facets(self) -> list[Facet]:
        from nnapi.model.validation import model_facets

        return model_facets(self)

    @property
    def feature_level(self) -> int:
        """Return the feature level (1 to 8) that a device needs for the whole model."""
        return max((facet.level for facet in self.facets), default=1)

    def supported_operations(self, devices: Sequence[Supports]) -> list[bool]:
        """Return whether any of the devices can run each operation, in the order of addition
        (``ANeuralNetworksModel_getSupportedOperationsForDevices``)."""
        need(devices is not None, "devices is None", UnexpectedNullError)
        need(len(devices), "no devices are listed", BadDataError)
        self.state.need("finished")
        need(all(device is not None for device in devices), "a device is None", UnexpectedNullError)
        wrong = next((each for each in devices if not hasattr(each, "supports")), None)
        need(wrong is None, f"{wrong!r} is not a Device: nnapi.device() finds one by name", BadDataError)
        need_distinct(devices)
        self.need_mapped()
        answers = [device.supports(self) for device in devices]
        order = sorted(range(len(self.operations)), key=lambda index: self.operations[index].number)
        return [any(answer[index] for answer in answers) for index in order]

    def close(self) -> None:
        """Free the model (``ANeuralNetworksModel_free``); its compilations stay valid."""
        self.state.value = "closed"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle a finished model as path and digest of its file, or as its whole content."""
        if not self.is_finished:
            raise BadStateError(f"{self!r} cannot be pickled: it is {self.state}, not finished")
        from nnapi.model.pickling import build, describe

        found = self.origin.reduce(self) if self.origin is not None else None
        self.need_mapped()
        return found or (build, (Model, describe(self)))

    def with_precision(self, precision: Precision) -> Model:
        """Return the model with this ``precision`` permitted, also in the models that it refers to."""
        from nnapi.model.pickling import build, describe

        if precision is self.precision:
            return self
        self.need_mapped()
        return build(Model, [each._replace(precision=precision) for each in describe(self)])

    def with_operands(self, operands: Sequence[Operand]) -> Model:
        """Return a finished model of the same operations; ``operands`` differ in dimensions and constants only."""
        made = Model(self.name)
        made.permit_as(self)
        for name in ("empty_inputs", "notes", "states", "signature", "origin"):
            setattr(made, name, getattr(self, name))
        made.inputs, made.outputs, made.operations = self.inputs, self.outputs, self.operations
        made.operands, made.known_matches = tuple(operands), []
        made.state.value = "finished"
        return made

    def __repr__(self) -> str:
        counts = f"{len(self.operations)} operations, {len(self.operands)} operands"
        return f"<nnapi.Model {self.name!r}: {counts}, {self.state}>"

    # Within

    @property
    def _operands(self) -> list[Operand]:
        assert isinstance(self.operands, list)
        return self.operands

    def note_call(self, call: OperationCall, known: KnownMatch | None) -> None:
        assert isinstance(self.operations, list)
        self.operations.append(call)
        self.known_matches.append(known)
        self.used = len(self.operands)

    def need_mapped(self) -> None:
        """Raise UnmappableError if a constant's memory or file cannot be mapped or was truncated.

        Raises BadDataError if the model's own file was changed.
        """
        if self.origin is not None:
            self.origin.need_unchanged()
        for operand in (operand for model in list_nested(self) for operand in model.operands):
            if operand.lifetime is CONSTANT:
                map_value(operand)
        need_whole(mappings(constants(self)))

    @property
    def input_info(self) -> tuple[TensorInfo, ...]:
        return describe_tensors(map(self.operands.__getitem__, self.inputs), self.signature, "input")

    @property
    def output_info(self) -> tuple[TensorInfo, ...]:
        return describe_tensors(map(self.operands.__getitem__, self.outputs), self.signature, "output")

    def _add_operand(self, type: OperandType, name: str) -> Operand:
        need(type is not None, "type is None", UnexpectedNullError)
        self.state.need("building", to="add an operand")
        check_type(type)
        operand = Operand(len(self.operands), type, name)
        self._operands.append(operand)
        return operand

    def _get_to_change(self, index: int, what: str) -> Operand:
        """Return an operand in order to change it; raise BadStateError unless the model is being built."""
        self.state.need("building", to=what)
        operand = self.need_operand(index)
        self.is_altered = self.is_altered or index < self.used
        return operand

    def need_operand(self, index: int, label: str = "") -> Operand:
        """Return an operand by index; raise BadDataError, beginning with ``label``, if there is none."""
        if not (0 <= index < len(self.operands)):
            label = f"{label}: " if label else ""
            raise BadDataError(f"{label}operand {index} does not exist, the model has {len(self.operands)}")
        return self.operands[index]
