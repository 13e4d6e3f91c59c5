"""Import an ONNX file as one model, with those dynamic dimensions that NNAPI can express."""

import os
from collections.abc import Sequence

import numpy as np

from nnapi.codes import OperationCode
from nnapi.errors import BadDataError, need
from nnapi.garbage_collection import pause_collecting
from nnapi.importers.build import build
from nnapi.importers.graph import Step, Value
from nnapi.importers.input_shapes import Shapes, fix_shape, need_inputs
from nnapi.importers.onnx.computed_sizes import with_computed_shapes
from nnapi.importers.onnx.convert import INCONSISTENT, Conversion
from nnapi.importers.onnx.file_graph import Declared, FileNode
from nnapi.importers.onnx.fold_into_filters import FoldingIntoFilters
from nnapi.importers.onnx.graph import OnnxGraph
from nnapi.importers.onnx.node import HIGHEST_RANK, OnnxNode
from nnapi.importers.onnx.reader import NEWEST, File
from nnapi.importers.onnx.schemas import newest_opset
from nnapi.importers.onnx.scope import ImportState, Scope
from nnapi.importers.onnx.tensors import BYTES, DTYPES, DYNAMIC, OnnxTensor, Values, constant, operand_type, placeholder
from nnapi.importers.refusals import UnsupportedOperationsError, expressible
from nnapi.importers.source_files import SourceFile
from nnapi.importers.symbolic_model import InputSymbols
from nnapi.model.model import Model


@pause_collecting()
def read_file(
    file: File,
    path: str,
    shapes: Shapes | None = None,
    values: Values | None = None,
    symbols: InputSymbols | None = None,
) -> Model:
    """Return the model in a file; raise the errors of :func:`read`. Inputs in ``values`` are read as these constants,
    but stay inputs of the model. ``symbols`` get the dynamic dimensions, and record what the model owes to them."""
    file.is_shared |= bool(shapes or values)
    try:
        model = _import(file, os.path.basename(path), shapes or {}, values or {}, symbols)
    except INCONSISTENT as error:  # for example, names that are not UTF-8 are bytes
        raise BadDataError(f"it is damaged ({type(error).__name__}: {error})") from None
    if file.mapped:
        model.origin = SourceFile.at(path, file.mapped)
    return model


def _import(file: File, name: str, shapes: Shapes, values: Values, symbols: InputSymbols | None) -> Model:
    content = file.content
    need_inputs(shapes, content.graph.inputs)
    given = (each for each in content.inputs if each.name in shapes)
    shapes = {each.name: fix_shape(each.name, each.shape, shapes[each.name], least=0) for each in given}
    state = ImportState(file, name, shapes, values, symbols)
    conversion = Conversion(state, OnnxGraph(state.allowance), file.opsets)
    if (newest := newest_opset()) < file.opsets[""] < NEWEST:
        conversion.note(f"the file is of opset {file.opsets['']}; it is read as opset {newest}, the newest known here")
    conversion.begin(content.graph)
    inputs = _read_inputs(conversion, content.inputs)
    conversion.run(content.graph)
    outputs = _read_outputs(conversion, content.results)
    if state.refusals:
        raise UnsupportedOperationsError.of(name, state.refusals)
    FoldingIntoFilters(conversion.graph, outputs).run()
    model = Model(os.path.splitext(name)[0])
    model.notes = tuple(state.notes)
    model.permit_dynamic_range(state.dynamic_range)
    build(conversion.graph, model, inputs, outputs, symbols=symbols)
    taken = zip(model.inputs, inputs, strict=True)
    model.empty_inputs = frozenset(index for index, value in taken if value in state.empty)
    return model


def _read_inputs(conversion: Conversion, declared: Sequence[Declared]) -> list[Value]:
    inputs = []
    for info in declared:
        if info.name in conversion.tensors:  # old files list constants as inputs too
            continue
        with conversion.refusing("model input", info.name):
            conversion.tensors[info.name] = _read_input(conversion, info)
        tensor = conversion.tensors.setdefault(info.name, placeholder(info.name))
        inputs.append(tensor.materialize())
        if tensor.array is not None:
            conversion.state.empty.add(inputs[-1])
        if info.name in conversion.state.values:
            conversion.tensors[info.name] = constant(info.name, conversion.state.values[info.name])
    return inputs


def _read_input(scope: Scope, info: Declared) -> OnnxTensor:
    kind, state, shape = info.kind, scope.state, info.shape
    expressible(kind == "tensor_type", f"it is of type {str(kind).removesuffix('_type')}, NNAPI has tensors only")
    if info.name in state.shapes:
        wanted = tuple(state.shapes[info.name])
        shape = wanted if state.symbols is None or shape is None else state.symbols.declare(info.name, shape, wanted)
    if shape is None or DYNAMIC in shape:
        state.sizes_depend_on_data = False
    scope.note_type(info.elem)
    type = operand_type(info.elem, shape or (1,), info.name)
    if shape is None:
        type = type.with_dimensions(())
    is_empty = info.is_empty or 0 in state.shapes.get(info.name, ())
    empty = np.zeros(shape or (), DTYPES[info.elem]) if is_empty else None
    return OnnxTensor(info.name, info.elem, shape, empty, Value(type, info.name))


def _read_outputs(scope: Scope, results: Sequence[FileNode]) -> list[Value]:
    taken: set[Value] = set()
    values = []
    for source in results:
        name = source.outputs[0]
        with scope.refusing("model output", name):
            need(name in scope.tensors, f"nothing writes the output {name}", BadDataError)
            node = OnnxNode(scope, source, scope.find(source.inputs), None)
            if node.tensor(0).is_refused:
                continue
            value = _find_result(node)
            if value in taken or value not in scope.graph.written:
                copy = Value(value.type, name)
                scope.graph.steps.append(Step(OperationCode.CAST, [value], [copy]))
                value = copy
            value.name = name
            taken.add(value)
            values.append(value)
    return values


def _find_result(node: OnnxNode) -> Value:
    node.tensors = with_computed_shapes(node.tensors)
    tensor = node.tensor(0)
    expressible(not tensor.is_dynamic_shape, "it depends on dimensions that only a run knows")
    value = node.stored(0) if tensor.elem in BYTES else node.input(0)
    node.conversion.note_type(tensor.elem)
    has_high_rank = tensor.shape is not None and tensor.rank > HIGHEST_RANK
    return node.view(value, tensor.dims) if has_high_rank else value
