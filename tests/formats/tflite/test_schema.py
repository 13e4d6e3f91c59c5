"""The one schema of reader and writer, against the classes that the FlatBuffers compiler made of the published one."""

import numpy as np
import pytest
import tflite

from nnapi.formats.tflite import IDENTIFIER, schema
from nnapi.formats.tflite.graph import DTYPES
from tests.formats.tflite.published_schema import plain, slots

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


@pytest.mark.parametrize("kind", READ)
def test_numbers_of_fields(kind: str) -> None:
    """The generated functions set fields by the same numbers."""
    theirs = slots(kind)
    ours = {plain(name): number for name, number in vars(READ[kind]).items() if name.isupper()}
    assert ours
    assert ours == {name: theirs[name] for name in ours}


def test_names_of_types() -> None:
    types = {number: name for name, number in vars(tflite.TensorType).items() if isinstance(number, int)}
    assert dict(enumerate(schema.TYPES)).items() <= types.items()


def test_elements_padding_and_identifier() -> None:
    assert set(schema.ELEMENTS) == set(DTYPES)
    for name, number in schema.ELEMENTS.items():
        assert DTYPES[name] == np.dtype(schema.TYPES[number].lower())
    assert tflite.Model.ModelBufferHasIdentifier(b"\0" * 4 + IDENTIFIER, 0)
    assert (schema.SAME, schema.VALID) == (tflite.Padding.SAME, tflite.Padding.VALID)
