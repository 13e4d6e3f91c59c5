"""Attributes that vendors define: bytes by name and code, in one order."""

import pytest

from nnapi.errors import BadDataError
from nnapi.runtime.extension_attributes import Attributes


def test_attributes_are_sorted_and_copied() -> None:
    attributes, data = Attributes("a compilation"), bytearray(b"two")
    assert attributes.to_tuple() == ()
    attributes.add("test.b", 2, data)  # type: ignore[arg-type]
    attributes.add("test.b", 1, None)
    attributes.add("test.a", 3, b"three")
    data[:] = b"???"
    assert attributes.to_tuple() == (("test.a", 3, b"three"), ("test.b", 1, b""), ("test.b", 2, b"two"))


def test_an_attribute_is_added_once() -> None:
    attributes = Attributes("an execution")
    attributes.add("test.a", 1, b"one")
    with pytest.raises(BadDataError, match="test.a 1 was added to an execution already"):
        attributes.add("test.a", 1, b"two")
    assert attributes.to_tuple() == (("test.a", 1, b"one"),)
