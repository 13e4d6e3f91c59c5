"""Attributes that vendors define: bytes by name and code, in one order."""

import pytest

from nnapi.errors import BadDataError
from nnapi.runtime.extension_attributes import add_attribute


def test_attributes_are_sorted_and_copied() -> None:
    data = bytearray(b"two")
    attributes = add_attribute((), "test.b", 2, data, "a compilation")  # type: ignore[arg-type]
    attributes = add_attribute(attributes, "test.b", 1, None, "a compilation")
    attributes = add_attribute(attributes, "test.a", 3, b"three", "a compilation")
    data[:] = b"???"
    assert attributes == (("test.a", 3, b"three"), ("test.b", 1, b""), ("test.b", 2, b"two"))


def test_an_attribute_is_added_once() -> None:
    attributes = add_attribute((), "test.a", 1, b"one", "an execution")
    with pytest.raises(BadDataError, match="test.a 1 was added to an execution already"):
        add_attribute(attributes, "test.a", 1, b"two", "an execution")
