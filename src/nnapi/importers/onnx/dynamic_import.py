"""Import files whose operations depend on dynamic dimensions: once for all sizes that keep the guards of an import."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import numpy as np

from nnapi.contract.shape_cache import ShapeCache
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.input_shapes import DYNAMIC, Shapes, guess_shapes, refuse_dynamic
from nnapi.importers.onnx.file_graph import Declared
from nnapi.importers.onnx.map_and_text_outputs import list_map_keys, list_texts
from nnapi.importers.onnx.reader import File
from nnapi.importers.onnx.static_import import read_file
from nnapi.importers.onnx.tensors import CODES, FLOAT, INT64, operand_type
from nnapi.importers.refusals import UnsupportedOperationsError
from nnapi.importers.symbolic_model import InputSymbols, SymbolicModel
from nnapi.locks import make_lock
from nnapi.model.dynamic_model import DynamicModel, SizedModel
from nnapi.model.dynamic_model import Shapes as InputShapes
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape

MOST_BYTES, OVERHEAD = 1 << 25, 1 << 10
"""Bytes of runs' further inputs that are cached, and those of a run without its arrays."""


def list_dynamic_inputs(file: File, shapes: Shapes) -> dict[str, Shape]:
    """Return the inputs with dynamic dimensions, by name, without those in ``shapes``."""
    shaped = {each.name: each.shape for each in file.content.inputs if each.shape and not each.is_empty}
    return {name: shape for name, shape in shaped.items() if name not in shapes and DYNAMIC in shape}


def make_dynamic(file: File, path: str, shapes: Shapes, error: UnsupportedOperationsError) -> DynamicModel:
    """Return the model of a file whose import failed with ``error`` because dimensions are dynamic.

    Raises UnsupportedOperationsError for refusals that static dimensions do not remove, with a hint at load(shapes=…).
    """
    dynamic = list_dynamic_inputs(file, shapes)
    if not dynamic:
        raise error
    imports = Imports(file, path, shapes)
    _, remaining = guess_shapes(imports.read, dynamic)
    if remaining:
        raise refuse_dynamic(os.path.basename(path), remaining, dynamic)
    inputs = [_describe(each, shapes) for each in file.content.inputs]
    outputs = _describe_outputs(file)
    names = [name for name, _ in inputs]
    model = DynamicModel(
        os.path.splitext(os.path.basename(path))[0],
        inputs,
        outputs,
        partial(imports.read_inputs, names),
        partial(imports.read_padded, names),
        partial(imports.read_sized, names),
    )
    imports.reasons.clear()  # of the guesses
    model.reimports = imports.reasons
    return model


def _describe_outputs(file: File) -> list[tuple[str, OperandType]]:
    maps, texts = list_map_keys(file.proto.graph), list_texts(file.proto.graph)
    found = []
    for info in file.content.outputs:
        if info.name in maps:
            found.append((info.name, OperandType(CODES[FLOAT], (DYNAMIC, len(maps[info.name])))))
        elif info.name in texts:
            found.append((info.name, OperandType(CODES[INT64], (DYNAMIC,))))
        else:
            found.append(_describe(info, {}))
    return found


def _describe(info: Declared, shapes: Shapes) -> tuple[str, OperandType]:
    need(info.elem in CODES, f"{info.name} has no type that NNAPI has", BadDataError)
    if info.shape is None:
        return info.name, OperandType(CODES[info.elem], tuple(shapes.get(info.name, ())))
    return info.name, operand_type(info.elem, tuple(shapes.get(info.name, info.shape)), info.name)


def cache_further(find: Callable[[InputShapes], list[Array]]) -> Callable[[InputShapes], list[Array]]:
    """Return the function with a cache for results, as the lengths of a text recur in the next one."""
    cached = ShapeCache[InputShapes, list[Array]](
        lambda shapes, found: OVERHEAD + sum(array.nbytes for array in found), MOST_BYTES
    )
    lock = make_lock()

    def find_cached(shapes: InputShapes) -> list[Array]:
        with lock:
            found = cached.get(shapes)
        if found is None:
            found = find(shapes)
            with lock:
                cached.keep(shapes, found)
        return found

    return find_cached


class Imports:
    """The imports of a file, each for the sizes of a run and all others that keep its guards."""

    def __init__(self, file: File, path: str, shapes: Shapes) -> None:
        self._file, self._path, self._shapes = file, path, dict(shapes)
        self._scalars = {each.name for each in file.proto.graph.input if not each.type.tensor_type.shape.dim}
        self._made: list[SymbolicModel] = []
        self.reasons: list[str] = []
        """Why there was another import."""

    def read(self, shapes: Shapes) -> Model:
        """Return the model for these shapes of dynamic inputs."""
        given = {**shapes, **self._shapes}
        is_empty = any(0 in shape for shape in given.values())
        whole = None if is_empty else self._find(given) or self._import(given)
        if whole is not None:
            with suppress(Exception):  # a constant that cannot be computed: the import says why
                return whole.specialize(given)
        return read_file(self._file, self._path, given)

    def read_inputs(self, names: Sequence[str], inputs: InputShapes) -> Model:
        """Return the model for the shapes of all inputs, in their order."""
        return self.read(self._name(names, inputs))

    def read_padded(
        self, names: Sequence[str], padded: InputShapes, run: InputShapes
    ) -> tuple[Model, Callable[[InputShapes], list[Array]]] | None:
        """Return the model for the padded inputs of a run, and a function that returns its further inputs for the
        shapes of a run; None if it has none."""
        given = self._name(names, padded)
        whole = self._find(given) or self._import(given)
        if whole is None:
            return None
        model, further = whole.specialize_padded(given, self._name(names, run))
        if len(model.inputs) == len(names):
            return None
        return model, cache_further(lambda inputs: further(self._name(names, inputs)))

    def read_sized(self, names: Sequence[str], run: InputShapes) -> SizedModel | None:
        """Return the model whose dimensions are sizes, of the import that holds for the shapes of a run."""
        given = self._name(names, run)
        whole = self._find(given, is_general=True) or self._import(given, is_general=True)
        if whole is None:
            return None
        model, symbols, find_further = whole.describe_sized()
        return SizedModel(
            model,
            symbols,
            cache_further(lambda shapes: find_further(self._name(names, shapes))),
            lambda shapes: whole.find_broken_by(symbols, self._name(names, shapes)),
        )

    def _name(self, names: Sequence[str], inputs: InputShapes) -> Shapes:
        pairs = zip(names, inputs, strict=True)
        return {name: shape for name, shape in pairs if name not in self._scalars} | self._shapes

    def _find(self, given: Shapes, *, is_general: bool = False) -> SymbolicModel | None:
        """Return an import that holds for these shapes; None, and a guard that they break as a reason, if none does."""
        reason = ""
        for each in reversed([each for each in self._made if each.is_general or not is_general]):
            broken = each.find_broken(given, is_general=is_general)
            if not broken:
                return each
            reason = reason or broken
        if reason:
            self.reasons.append(reason)
        return None

    def _import(self, given: Shapes, *, is_general: bool = False) -> SymbolicModel | None:
        """Import the file with symbols; None if an operation is refused, or needs a size in a way that has no guard."""
        symbols = InputSymbols(is_general=is_general)
        try:
            with np.errstate(invalid="ignore"):  # rules compare sizes, where NumPy reports the processor's old flags
                model = read_file(self._file, self._path, given, symbols=symbols)
        except NnapiError:
            return None
        self._made.append(SymbolicModel(model, symbols))
        return self._made[-1]
