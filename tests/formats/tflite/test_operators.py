"""The rows of operators, against the classes that the FlatBuffers compiler made of the published schema."""

from typing import Any

import flatbuffers
import numpy as np
import pytest
import tflite

from nnapi.formats.tflite.flatbuffer import Source
from nnapi.formats.tflite.operators import BY_NAME, NONE, OPERATORS, options_table, row_of
from nnapi.formats.tflite.reader import Options
from tests.formats.tflite.published_schema import getter, plain, published, setters, slots
from tests.rows import each_row

PROBES = {"?": True, "b": -3, "i": -70000, "I": 70000, "q": -(2**40), "f": 0.5, "s": "name"}
TABLES = {options_table(row.name).name: row.name for row in OPERATORS if row.options}
"""An operator of each table of options."""


def written(table: str, values: dict[str, Any]) -> Source:
    """A file whose root is a table with these fields, made by the generated functions."""
    b, dtypes = flatbuffers.Builder(256), {"i": np.int32, "q": np.int64, "f": np.float32}
    fields = options_table(TABLES[table]).fields
    texts = {name: b.CreateString(value) for name, value in values.items() if fields[name].code == "s"}
    ready = {
        name: b.CreateNumpyVector(np.asarray(value, dtypes[fields[name].code])) if fields[name].is_vector else value
        for name, value in (values | texts).items()
    }
    getattr(tflite, f"{table}Start")(b)
    for name, value in ready.items():
        setters(table)[published(table, name)](b, value)
    b.Finish(getattr(tflite, f"{table}End")(b))
    return Source(memoryview(bytes(b.Output())))


@each_row("table", TABLES)
def test_parameters_are_read_as_they_were_written(table: str) -> None:
    fields = {name: field for name, field in options_table(TABLES[table]).fields.items() if name != "_"}
    values = {name: [PROBES[f.code]] * 2 if f.is_vector else PROBES[f.code] for name, f in fields.items()}
    read = Options(**written(table, values).root().values(fields))
    for name, value in values.items():
        assert getattr(read, name) == (tuple(value) if isinstance(value, list) else value), name


@each_row("table", TABLES)
def test_defaults_of_parameters(table: str) -> None:
    content = written(table, {})
    theirs = getattr(tflite, table).GetRootAs(bytes(content.content))
    for name, field in options_table(TABLES[table]).fields.items():
        if name != "_" and not field.is_vector:
            value = getter(theirs, table, name)()
            value = "" if field.code == "s" and value is None else value
            assert (field.default, type(field.default)) == (value, type(value)), name


@each_row("table", TABLES)
def test_members_of_the_unions(table: str) -> None:
    ours = options_table(TABLES[table])
    union = tflite.BuiltinOptions2 if ours.is_second else tflite.BuiltinOptions
    assert ours.member == getattr(union, table)


@each_row("table", TABLES)
def test_numbers_of_parameters(table: str) -> None:
    theirs = slots(table)
    ours = {
        published(table, name): field.number
        for name, field in options_table(TABLES[table]).fields.items()
        if name != "_"
    }
    assert ours.items() <= theirs.items()


def test_numbers_of_operators() -> None:
    theirs = {number: name for name, number in vars(tflite.BuiltinOperator).items() if isinstance(number, int)}
    assert dict(enumerate(row.name for row in OPERATORS)) == theirs
    assert len(BY_NAME) == len(OPERATORS)


def test_a_table_that_is_called_as_an_operator_is_that_operators() -> None:
    called = {f"{plain(name)}options": name for name in BY_NAME}
    by_name = {called[table.lower()]: table for table in TABLES if table.lower() in called}
    assert len(by_name) > 30
    assert by_name == {kind: options_table(kind).name for kind in by_name}


def test_operators_of_one_number_have_one_table() -> None:
    """Reductions share a table, and so do poolings."""
    numbers = {options_table(row.name)[:3] for row in OPERATORS if row.options}
    assert len(numbers) == len({(is_second, member) for _, member, is_second in numbers}) == len(TABLES)


def test_custom_operators_have_defaults_alone() -> None:
    assert row_of("CUSTOM:mine") == row_of("DENSIFY")._replace(name="", rule="")
    assert options_table("CUSTOM:mine") is options_table("DENSIFY") is NONE


def test_parameters_that_the_schema_does_not_have_are_a_mistake() -> None:
    with pytest.raises(AttributeError):
        _ = Options(axis=1).axes
