"""Import .tflite files whose operations depend on dynamic dimensions: anew for each set of input shapes."""

from collections.abc import Mapping, Sequence

from nnapi.formats.tflite.reader import File, Tensor
from nnapi.importers.input_shapes import DYNAMIC, Shapes, fix_shape, guess_shapes, need_inputs, refuse_dynamic
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.tflite.node import HIGHEST_RANK
from nnapi.importers.tflite.subgraph import import_subgraph
from nnapi.model.dynamic_model import DynamicModel
from nnapi.model.dynamic_model import Shapes as InputShapes
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from nnapi.model.tensor_info import name_tensors

Options = Mapping[str, bool]


def read_with_shapes(content: memoryview, name: str, shapes: Shapes, options: Options) -> Model:
    """Return the main subgraph as a model, its inputs with these ``shapes``; ``options`` are those of
    :class:`Import`."""
    file = File(content)
    _fix_inputs(file, shapes)
    try:
        return import_subgraph(file, name, **options)
    except UnsupportedOperationsError as error:
        if not shapes:
            raise
        _forget_computed_shapes(file)
        try:
            return import_subgraph(file, name, **options)
        except UnsupportedOperationsError:
            raise error from None


def make_dynamic(
    content: memoryview, name: str, shapes: Shapes, options: Options, error: UnsupportedOperationsError
) -> DynamicModel:
    """Return the model of a file whose import failed with ``error`` because dimensions are dynamic.

    Raises UnsupportedOperationsError for refusals that static dimensions do not remove, with a hint at load(shapes=…).
    """
    file = File(content)
    _fix_inputs(file, shapes)
    graph, inputs = file.subgraph(0), _list_inputs(file)
    dynamic = {name: tensor.shape for name, tensor in inputs.items() if DYNAMIC in tensor.shape}
    if not dynamic:
        raise error

    def read(given: Shapes) -> Model:
        return read_with_shapes(content, name, {**shapes, **given}, options)

    guessed, remaining = guess_shapes(read, dynamic)
    if guessed is None or guessed.states or any(len(shape) > HIGHEST_RANK for shape in dynamic.values()):
        raise refuse_dynamic(name, remaining or error.refusals, dynamic)

    def describe(given: InputShapes) -> Model:
        sizes = dict(zip(inputs, given, strict=True))
        return read({end: shape for end, shape in sizes.items() if end in dynamic})

    outputs = [graph.tensors[index] for index in graph.outputs]
    ends = (_describe(guessed, guessed.inputs, [*inputs.values()]), _describe(guessed, guessed.outputs, outputs))
    model = DynamicModel(guessed.name, *ends, describe)
    model.signature = guessed.signature
    return model


def _describe(guessed: Model, indices: Sequence[int], tensors: Sequence[Tensor]) -> list[tuple[str, OperandType]]:
    """Return names and types of a model's inputs or outputs, with the dimensions of the file's tensors."""
    operands = [guessed.operands[index] for index in indices]
    pairs = zip(operands, tensors, strict=True)
    return [(operand.name, operand.type.with_dimensions(tensor.shape or (1,))) for operand, tensor in pairs]


def _list_inputs(file: File) -> dict[str, Tensor]:
    """Return the main subgraph's inputs by the names that ``Model.input_info`` has."""
    graph = file.subgraph(0)
    tensors = [graph.tensors[index] for index in graph.inputs]
    names = name_tensors((tensor.name for tensor in tensors), file.signature(0), "input")
    return dict(zip(names, tensors, strict=True))


def _fix_inputs(file: File, shapes: Shapes) -> None:
    """Set the shapes of inputs, named as in ``Model.input_info`` or as tensors of the file."""
    named = _list_inputs(file)
    every = {tensor.name: tensor for tensor in named.values()} | named
    need_inputs(shapes, named if not set(shapes) <= set(every) else every)
    for name, wanted in shapes.items():
        every[name].shape = fix_shape(name, every[name].shape, wanted)


def _forget_computed_shapes(file: File) -> None:
    """Make the dimensions of computed tensors dynamic, so that they follow from the inputs' as in LiteRT."""
    graph = file.subgraph(0)
    given = set(graph.inputs)
    for tensor in graph.tensors:
        if tensor.region is None and not tensor.is_variable and tensor.index not in given:
            tensor.shape = (DYNAMIC,) * len(tensor.shape)
