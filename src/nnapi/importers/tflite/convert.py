"""Convert the subgraphs of a .tflite file to models, and collect refusals."""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.formats.tflite.operators import row_of
from nnapi.formats.tflite.reader import CONTROL_FLOW, Blocks, File, Operator, Subgraph, Tensor, list_subgraphs
from nnapi.importers.build import build
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.importers.refusals import (
    Refusal,
    Refused,
    UnsupportedOperationsError,
    explain_missing_rule,
    expressible,
)
from nnapi.importers.tflite.block_weights import Packed, read_in_blocks, read_packed
from nnapi.importers.tflite.merged_axes import describe_merge, merge_axes
from nnapi.importers.tflite.node import HIGHEST_RANK, TfliteNode
from nnapi.importers.tflite.rules import HIGH_RANK, RULES
from nnapi.importers.tflite.tensors import (
    COMPLEX,
    MAKE_COMPLEX,
    READ_COMPLEX,
    as_real,
    as_signed,
    has_zero_points,
    operand_type,
    placeholder,
    read_constant,
    read_stored,
)
from nnapi.importers.tflite.variables import RESOURCE, Handle, Variables, list_assigned, list_variables
from nnapi.model.model import DYNAMIC_RANGE, Model
from nnapi.model.nesting import inner_first
from nnapi.model.operand import Array, OperandType

INCONSISTENT = (ArithmeticError, LookupError, ValueError, TypeError, struct.error)
LASTING = "variables begin each run with their initial values; a burst keeps them between its runs"
DEEPEST = 50
"""The maximum nesting depth of called subgraphs."""


class Import:
    def __init__(
        self,
        file: File,
        name: str,
        *,
        int16_as_float: bool = False,
        keeps_state: bool = False,
        dynamic_range: bool = False,
        static_shapes: bool = False,
        merges_axes: bool = False,
        high_ranks: bool = False,
    ) -> None:
        """``keeps_state``: variables become inputs and outputs behind the model's own; they may be rounded.
        ``static_shapes``: refuse operators whose result's shape depends on values that only a run knows.
        ``merges_axes``: the model's inputs have at most NNAPI's rank; their first axes are merged. ``high_ranks``:
        operations may have ranks beyond NNAPI's, and no axes are merged."""
        self.file = file
        self.name = name
        self.refusals: list[Refusal] = []
        self.refused: list[Operator] = []
        self.allowance = Allowance(file.source.size)
        self.notes: dict[str, None] = {}
        self.int16_as_float = int16_as_float
        self.keeps_state = keeps_state
        self.dynamic_range = dynamic_range
        self.static_shapes = static_shapes
        self.merges_axes, self.high_ranks = merges_axes, high_ranks
        self.coarsest = 0.0
        """The largest scale of dequantized 16-bit values."""
        self._models: dict[int, Model | None] = {}
        self._as_models: set[int] = set()
        self._open: set[int] = set()

    def model(self, whole: int = 0) -> Model:
        """Return a subgraph as a model; raise UnsupportedOperationsError with every refused operation."""
        *inner, _ = inner_first(whole, self._list_referred)
        for index in (index for index in inner if index in self._as_models):
            self._convert(index)
        model = self._convert(
            whole,
            self.keeps_state,
            Variables(partial(list_assigned, self.file, whole, all_signatures=self.keeps_state)),
        )
        if self.refusals or model is None:
            raise UnsupportedOperationsError.of(self.name, self.refusals)
        model.signature = self.file.signature(0)
        return model

    def subgraph(self, index: int) -> Model | None:
        """Return subgraph ``index`` as a model for IF or WHILE; None if one of its operators was refused."""
        self.file.subgraph(index)
        need(index in self._models, f"subgraph {index} refers to itself", BadDataError)
        return self._models[index]

    @contextmanager
    def entered_subgraph(self, index: int) -> Iterator[None]:
        """Mark subgraph ``index`` as being converted; raise BadDataError if it refers to itself."""
        need(index not in self._open, f"subgraph {index} refers to itself", BadDataError)
        need(len(self._open) <= DEEPEST, f"calls of subgraphs lie more than {DEEPEST} deep in each other", BadDataError)
        self._open.add(index)
        yield
        self._open.remove(index)

    def _list_referred(self, index: int) -> list[int]:
        """Return the subgraphs that subgraph ``index`` refers to; [] if it is damaged, which its conversion reports."""
        found: list[int] = []
        try:
            for operator in self.file.subgraph(index).operators if self.file.subgraph_count > 1 else ():
                references = list_subgraphs(operator)
                found += references
                if operator.kind in CONTROL_FLOW:
                    self._as_models.update(references)
        except (NnapiError, *INCONSISTENT):
            return []
        return [each for each in found if 0 <= each < self.file.subgraph_count]

    def _convert(self, index: int, keeps_state: bool = False, variables: Variables | None = None) -> Model | None:
        """Convert subgraph ``index``; callers first convert the subgraphs that it refers to."""
        subgraph = self.file.subgraph(index)
        conversion = Conversion(self, subgraph, variables=variables)
        if self.merges_axes and variables is not None:
            for value in map(conversion.read, subgraph.inputs):
                if merge_axes(value):
                    self.notes[describe_merge(value)] = None
        if keeps_state:
            conversion.take_states()
        with self.entered_subgraph(index):
            for operator in subgraph.operators:
                conversion.convert(operator)
        outputs = conversion.results()
        if index and not subgraph.inputs:
            reason = "it has no inputs, NNAPI's models have at least one"
            self.refusals.append(Refusal("subgraph", subgraph.name or str(index), reason))
        model = None
        if not self.refusals:
            stem, _ = os.path.splitext(self.name)
            name = stem if index == 0 else f"{stem}:{subgraph.name or index}"
            model = conversion.build(Model(name), outputs)
        self._models[index] = model
        return model


class Conversion:
    def __init__(
        self, whole: Import, subgraph: Subgraph, graph: Graph | None = None, variables: Variables | None = None
    ) -> None:
        self.whole = whole
        self.variables = Variables(is_nested=True) if variables is None else variables
        self.initializes = False
        """Whether the subgraph initializes variables, for CALL_ONCE."""
        self.keeps_weights = whole.dynamic_range
        self.subgraph = subgraph
        self.graph = Graph(whole.allowance, whole.high_ranks) if graph is None else graph
        self._values: dict[int, Value] = {}
        self._weights: dict[int, Value] = {}
        self.states: Mapping[int, Value] = {}
        """The values before a run of variables that the caller keeps between runs."""
        for index in subgraph.inputs:
            need(index not in self._values, f"input {subgraph.tensors[index]} is listed twice", BadDataError)
            self._values[index] = self._model_input(subgraph.tensors[index])

    def take_states(self) -> None:
        self.states = {
            index: self._model_input(self.subgraph.tensors[index]) for index in list_variables(self.subgraph)
        }
        self._values.update(self.states)

    # Methods that nodes call

    def read(self, index: int) -> Value:
        value = self._values.get(index)
        if value is None:
            tensor = self.subgraph.tensors[index]
            value = self._values[index] = self._state(tensor) if tensor.is_variable else self._constant(tensor)
        return value

    def read_weights(self, index: int) -> Value:
        """Return weights of an operator on floats as LiteRT reads them: the bytes are signed and have zero point 0,
        also if the file says UINT8, as files of 2018 do, or has a zero point or one for each channel."""
        value = self._weights.get(index)
        if value is None:
            tensor = self.subgraph.tensors[index]
            if tensor.region and has_zero_points(tensor):
                value = self._constant(replace(tensor, zero_points=()))
            else:
                value = as_signed(self.read(index))
            self._weights[index] = value
        return value

    def read_packed(self, index: int) -> Packed | None:
        """Return weights that have a scale for each block, packed; None for others."""
        return read_packed(self.subgraph.tensors[index], self.subgraph.tensors, self.whole.file.content)

    def make_output(self, index: int) -> Value:
        need(index >= 0, "an operator leaves out an output", BadDataError)
        tensor = self.subgraph.tensors[index]
        if index in self._values:
            raise BadDataError(f"{tensor} is written twice")
        if tensor.type == RESOURCE:
            return Handle(tensor.name)
        self._note_type(tensor)
        type = self._type(tensor)
        return Value(type if tensor.shape else type.replace(dimensions=()), tensor.name)

    def bind(self, index: int, value: Value) -> None:
        self._values[index] = value

    def note(self, message: str) -> None:
        self.whole.notes[message] = None

    def model(self, index: int) -> Model | None:
        return self.whole.subgraph(index)

    def inline(self, index: int, values: Sequence[Value]) -> list[Value]:
        """Inline another subgraph, applied to ``values``; return its outputs."""
        subgraph = self.whole.file.subgraph(index)
        with self.whole.entered_subgraph(index):
            inner = Conversion(self.whole, subgraph, self.graph, self.variables)
            inner.initializes = self.initializes
            inner._values.update(zip(subgraph.inputs, values, strict=True))
            for operator in subgraph.operators:
                inner.convert(operator)
        return [inner.read(output) for output in subgraph.outputs]

    def initialize(self, index: int) -> None:
        """Compute the initial values of variables in another subgraph, once."""
        if self.variables.begin_initialization(index):
            before, self.initializes = self.initializes, True
            self.inline(index, [])
            self.initializes = before

    def assign(self, name: str, value: Value) -> None:
        (self.variables.initialize if self.initializes else self.variables.assign)(name, value)

    def list_floats(self, index: int) -> list[Array]:
        """Return the float constants of another subgraph."""
        content, tensors = self.whole.file.content, self.whole.file.subgraph(index).tensors
        floats = [tensor for tensor in tensors if tensor.region and tensor.type in ("FLOAT32", "FLOAT16")]
        return [read_constant(tensor, content)[0] for tensor in floats]

    # Walking

    def convert(self, operator: Operator) -> None:
        """Apply the operator's rule; every error becomes a refusal that names the operator."""
        rule = HIGH_RANK.find(operator.kind) if self._exceeds_rank(operator) else RULES.find(operator.kind)
        try:
            self._need_real(operator)
            if rule is None:
                raise Refused(explain_missing_rule(RULES.package, operator.kind))
            node = TfliteNode(self, operator)
            rule(node)
            is_static = not (self.whole.static_shapes and self.graph.undetermined)
            expressible(is_static, "the shape of its result is known only when it runs")
            for index, value in zip(operator.outputs, node.outputs, strict=True):
                if value in self.graph.written or value.array is not None:
                    self._values.setdefault(index, value)
        except Refused as refused:
            self._refuse(operator, refused.reason)
        except NnapiError as error:
            self._refuse(operator, str(error))
        except INCONSISTENT as error:
            self._refuse(operator, f"its parameters contradict each other ({type(error).__name__}: {error})")
        self.graph.undetermined.clear()
        if self.whole.refusals:
            for index in operator.outputs:  # so that refusals of later operators are found too
                if index >= 0:
                    self._values.setdefault(index, placeholder(self.subgraph.tensors[index]))

    def _need_real(self, operator: Operator) -> None:
        tensors, kind = self.subgraph.tensors, operator.kind
        indices = [*operator.inputs] * (kind not in READ_COMPLEX) + [*operator.outputs] * (kind not in MAKE_COMPLEX)
        for index in indices:
            is_complex = 0 <= index < len(tensors) and tensors[index].type == COMPLEX
            expressible(not is_complex, f"{tensors[index]} is complex, NNAPI has no complex numbers")

    def _exceeds_rank(self, operator: Operator) -> bool:
        """Return whether an operator needs the rules for high ranks, and all its inputs are available as rows."""
        tensors = self.subgraph.tensors
        used = [index for index in (*operator.inputs, *operator.outputs) if index >= 0]
        is_read = self.whole.high_ranks or not row_of(operator.kind).high_rank
        if is_read or all(len(tensors[index].shape) <= HIGHEST_RANK for index in used):
            return False
        values = [self._values.get(index) for index in operator.inputs]
        return all(
            value is None or value.rank <= HIGHEST_RANK or value.row or value.array is not None for value in values
        )

    def results(self) -> list[Value]:
        try:
            outputs = [self.read(index) for index in (*self.subgraph.outputs, *self.states)]
            for index, value in self.states.items():
                now, named = self._values[index], self.subgraph.tensors[index]
                is_new = now is not value and now.type.code == value.type.code
                expressible(is_new, f"{named} is state whose new value NNAPI does not give")
            for value in outputs:
                self.graph.write_whole(value)
            return outputs
        except Refused as refused:
            self.whole.refusals.append(Refusal("model output", self.subgraph.name, refused.reason))
            return []

    def build(self, model: Model, outputs: Sequence[Value]) -> Model:
        inputs = [*(self._values[index] for index in self.subgraph.inputs), *self.states.values()]
        inputs = [value.row or value for value in inputs]
        if self.whole.coarsest:
            self.note(
                "16-bit quantized values are float32, neither rounded nor clamped: each differs by at most half of "
                f"its scale, {self.whole.coarsest / 2:.3g} for the coarsest; later operations carry the difference on"
            )
        model.notes = tuple(self.whole.notes)
        model.permit_dynamic_range(DYNAMIC_RANGE in self.whole.notes)
        model.permit_rounded_states(bool(self.states))
        variables = self.variables
        lasting = [(state, variables.current[name]) for name, state in variables.states.items()]
        if lasting:
            model.notes += (LASTING,)
        return build(self.graph, model, inputs, outputs, lasting)

    def _refuse(self, operator: Operator, reason: str) -> None:
        self.whole.refused.append(operator)
        tensors = self.subgraph.tensors
        name = next((str(tensors[index]) for index in operator.outputs if index >= 0), "without output")
        used = (tensors[index].type for index in (*operator.inputs, *operator.outputs) if 0 <= index < len(tensors))
        if not self.whole.int16_as_float and "INT16" in used:
            reason += "; int16_as_float=True (--int16-as-float) takes 16-bit values as floats"
        self.whole.refusals.append(Refusal(operator.kind, name, reason))

    # Tensors

    def _model_input(self, tensor: Tensor) -> Value:
        try:
            self._note_type(tensor)
            return Value(self._type(tensor), tensor.name)
        except Refused as refused:
            self.whole.refusals.append(Refusal("model input", str(tensor), refused.reason))
            return placeholder(tensor)

    def _constant(self, tensor: Tensor) -> Value:
        if tensor.blocks and tensor.region and tensor.type in ("INT4", "INT8"):
            return self._in_blocks(tensor, tensor.blocks)
        if tensor.region and self._is_real(tensor):
            return self._real_constant(tensor)
        type = self._type(tensor)
        if tensor.region is None and 0 in tensor.shape:
            return Value(type, tensor.name, np.zeros(tensor.shape, type.dtype))
        if not tensor.region:
            raise BadDataError(f"{tensor} is neither an input nor a constant, and nothing writes it")
        if tensor.sparsity:
            self.graph.reserve(type.nbytes)
        array, is_view = read_constant(tensor, self.whole.file.content)
        return Value(type, tensor.name, array, is_view)

    def _in_blocks(self, tensor: Tensor, blocks: Blocks) -> Value:
        type = OperandType(OperandCode.TENSOR_FLOAT32, tensor.shape)
        self.graph.reserve(type.nbytes)
        values = read_in_blocks(tensor, blocks, self.subgraph.tensors, self.whole.file.content)
        self.note("weights with a scale per block are dequantized; TFLite quantizes the input as well")
        return Value(type, tensor.name, values)

    def _state(self, tensor: Tensor) -> Value:
        type = self._type(tensor)
        self.note("state that the file keeps between runs starts anew, from zero, at every run")
        return self.graph.full(type, type.zero_point, tensor.name)

    def _is_real(self, tensor: Tensor) -> bool:
        """Return whether ``int16_as_float`` dequantizes the tensor: a 16-bit activation or a 64-bit bias."""
        return self.whole.int16_as_float and tensor.type in ("INT16", "INT64") and bool(tensor.scales)

    def _type(self, tensor: Tensor) -> OperandType:
        """Return the operand type of a tensor; float32 if ``int16_as_float`` dequantizes it."""
        is_computed = tensor.region is None
        is_wide = tensor.type == "INT16" or (tensor.type == "INT32" and is_computed and bool(tensor.scales))
        if not self.whole.int16_as_float or not is_wide or not tensor.scales:
            return operand_type(tensor)
        if not is_computed:
            operand_type(tensor)  # it refuses a zero point
        self.whole.coarsest = max(self.whole.coarsest, *tensor.scales)
        return OperandType(OperandCode.TENSOR_FLOAT32, tensor.shape or (1,))

    def _real_constant(self, tensor: Tensor) -> Value:
        type = OperandType(OperandCode.TENSOR_FLOAT32, tensor.shape or (1,))
        self.graph.reserve(type.nbytes)
        values = read_stored(tensor, self.whole.file.content)
        return Value(type, tensor.name, as_real(values, tensor).astype(np.float32))

    def _note_type(self, tensor: Tensor) -> None:
        if tensor.type == "INT64":
            self.note("int64 tensors are TENSOR_INT32")
