"""The one schema of reader and writer, against the classes that the FlatBuffers compiler made of the published one."""

from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite

from nnapi.formats.tflite import IDENTIFIER, schema
from nnapi.formats.tflite.graph import DTYPES
from nnapi.formats.tflite.table import Source
from nnapi.importers.tflite.reader import Options
from tests.formats.tflite.published_schema import getter, plain, published, setters, slots

PROBES = {"?": True, "b": -3, "i": -70000, "I": 70000, "q": -(2**40), "f": 0.5}
READ = {
    "Model": schema.Model,
    "OperatorCode": schema.OperatorCode,
    "SubGraph": schema.SubGraph,
    "Buffer": schema.Buffer,
    "Tensor": schema.Tensor,
    "QuantizationParameters": schema.QuantizationParameters,
    "Operator": schema.Operator,
    "SparsityParameters": schema.SparsityParameters,
    "DimensionMetadata": schema.DimensionMetadata,
}


def written(kind: str, values: dict[str, Any]) -> Source:
    """A file whose root is a table with these fields, made by the generated functions."""
    b, dtypes = flatbuffers.Builder(256), {"i": np.int32, "q": np.int64, "f": np.float32}
    fields = schema.layout(kind).fields
    ready = {
        name: b.CreateNumpyVector(np.asarray(value, dtypes[fields[name].code])) if fields[name].is_vector else value
        for name, value in values.items()
    }
    getattr(tflite, f"{kind}Start")(b)
    for name, value in ready.items():
        setters(kind)[published(kind, name)](b, value)
    b.Finish(getattr(tflite, f"{kind}End")(b))
    return Source(memoryview(bytes(b.Output())))


@pytest.mark.parametrize("kind", schema.LAYOUTS)
def test_parameters_are_read_as_they_were_written(kind: str) -> None:
    fields = {name: field for name, field in schema.layout(kind).fields.items() if name != "_"}
    values = {name: [PROBES[f.code]] * 2 if f.is_vector else PROBES[f.code] for name, f in fields.items()}
    read = Options(**written(kind, values).root().values(fields))
    for name, value in values.items():
        assert getattr(read, name) == (tuple(value) if isinstance(value, list) else value), name


@pytest.mark.parametrize("kind", schema.LAYOUTS)
def test_defaults_of_parameters(kind: str) -> None:
    content = written(kind, {})
    theirs = getattr(tflite, kind).GetRootAs(bytes(content.content))
    for name, field in schema.layout(kind).fields.items():
        if name != "_" and not field.is_vector:
            value = getter(theirs, kind, name)()
            assert (field.default, type(field.default)) == (value, type(value)), name


@pytest.mark.parametrize("kind", schema.LAYOUTS)
def test_members_of_the_unions(kind: str) -> None:
    layout = schema.layout(kind)
    union = tflite.BuiltinOptions2 if layout.is_second else tflite.BuiltinOptions
    assert layout.member == getattr(union, kind)


@pytest.mark.parametrize("kind", READ)
def test_numbers_of_fields(kind: str) -> None:
    """The generated functions set fields by the same numbers."""
    theirs = slots(kind)
    ours = {plain(name): number for name, number in vars(READ[kind]).items() if name.isupper()}
    assert ours
    assert ours == {name: theirs[name] for name in ours}


def test_names_of_operations_and_types() -> None:
    operations = {number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)}
    types = {number: name for name, number in vars(tflite.TensorType).items() if isinstance(number, int)}
    assert dict(enumerate(schema.OPERATIONS)) == operations
    assert dict(enumerate(schema.TYPES)).items() <= types.items()


@pytest.mark.parametrize("kind", schema.LAYOUTS)
def test_numbers_of_parameters(kind: str) -> None:
    theirs = slots(kind)
    ours = {published(kind, name): field.number for name, field in schema.layout(kind).fields.items() if name != "_"}
    assert ours.items() <= theirs.items()


def test_every_operation_has_one_table() -> None:
    named = [kind for text in schema.LAYOUTS.values() for kind in text.partition(":")[0].split() if kind.isupper()]
    assert len(named) == len(set(named)) == len(schema.OPTIONS)
    assert set(named) <= set(schema.OPERATIONS)
    called = {f"{plain(kind)}options": kind for kind in schema.OPERATIONS}
    by_name = {called[table.lower()]: table for table in schema.LAYOUTS if table.lower() in called}
    assert len(by_name) > 30
    assert by_name.items() <= schema.OPTIONS.items()  # a table that is called as an operation is that operation's


def test_elements_padding_and_identifier() -> None:
    assert set(schema.ELEMENTS) == set(DTYPES)
    for name, number in schema.ELEMENTS.items():
        assert DTYPES[name] == np.dtype(schema.TYPES[number].lower())
    assert tflite.Model.ModelBufferHasIdentifier(b"\0" * 4 + IDENTIFIER, 0)
    assert (schema.SAME, schema.VALID) == (tflite.Padding.SAME, tflite.Padding.VALID)


def test_parameters_that_the_schema_does_not_have_are_a_mistake() -> None:
    with pytest.raises(AttributeError):
        _ = Options(axis=1).axes
