"""Parameters of custom operations: what the flatbuffers package writes is read; damage is refused, nothing else."""

from contextlib import suppress
from typing import Any

import pytest
from flatbuffers import flexbuffers
from hypothesis import given, settings
from hypothesis import strategies as st

from nnapi.errors import BadDataError
from nnapi.formats.tflite.flexbuffer import read_map, write_map

values = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-200, 200),
    st.floats(width=32, allow_nan=False),
    st.floats(allow_nan=False, min_value=-1e30, max_value=1e30),
    st.text(max_size=20),
)
names = st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1, max_size=12)
maps = st.dictionaries(names, values, max_size=12)


def written(found: dict[str, Any], *, indirect: bool = False) -> bytes:
    b = flexbuffers.Builder()
    with b.Map():
        for name, value in found.items():
            b.Key(name)
            if isinstance(value, bool):
                b.Bool(value)
            elif isinstance(value, str):
                b.String(value)
            elif isinstance(value, float):
                (b.IndirectFloat if indirect else b.Float)(value)
            else:
                (b.IndirectInt if indirect else b.Int)(value)
    return bytes(b.Finish())


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(maps, st.booleans())
def test_what_is_written_is_read(found: dict[str, Any], indirect: bool) -> None:
    content = written(found, indirect=indirect)
    read = read_map(content)
    assert read == flexbuffers.Loads(content)
    assert {name: type(value) for name, value in read.items()} == {name: type(value) for name, value in found.items()}


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(maps, st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4), st.integers(0, 40))
def test_damage_is_refused_or_read(found: dict[str, Any], changes: list[tuple[int, int]], cut: int) -> None:
    content = bytearray(written(found))[cut:]
    for place, value in changes:
        if content:
            content[place % len(content)] = value
    with suppress(BadDataError):
        read_map(bytes(content))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "there are too few bytes"),
        (bytes(flexbuffers.Dumps([1, 2])), "the root is not a map"),
        (b"\x05\x24\x01", "a number of 1 bytes at -"),
    ],
)
def test_what_is_no_map(content: bytes, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        read_map(content)


def test_texts_that_overlap_too_often_are_refused() -> None:
    """Many keys in the same bytes: a small file would take time and memory in proportion to its square."""
    count = 100
    keys_at = 200 + count  # distances back to key i, each one byte longer than the one before
    text = b"k" * 200 + b"\0"
    content = text.ljust(keys_at, b"\0")
    keys = b"".join((keys_at + 2 * i - i).to_bytes(2, "little") for i in range(count))
    head_at = len(content) + len(keys)
    head = b"".join(n.to_bytes(2, "little") for n in (head_at - keys_at, 2, count))
    entries = bytes(2 * count) + b"\x05" * count
    whole = content + keys + head + entries
    whole += (len(whole) - head_at - len(head)).to_bytes(2, "little") + b"\x25\x02"
    with pytest.raises(BadDataError, match="texts overlap too often"):
        read_map(whole)


@pytest.mark.parametrize("numbers", [[1, 4, 200], [-3, 70000], [0.5, 2.25]], ids=str)
@pytest.mark.parametrize("is_typed", [True, False])
def test_vectors_of_numbers(numbers: list[float], is_typed: bool) -> None:
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("v")
        (builder.TypedVectorFromElements if is_typed else builder.VectorFromElements)(numbers)
    assert read_map(bytes(builder.Finish())) == {"v": tuple(numbers)}


def test_vectors_of_something_else_are_refused() -> None:
    with pytest.raises(BadDataError, match="a vector has elements that are not numbers"):
        read_map(bytes(flexbuffers.Dumps({"v": ["a", "b"]})))


@given(st.dictionaries(names, st.one_of(st.integers(-(2**31), 2**31 - 1), st.floats(width=32, allow_nan=False))))
@settings(max_examples=50, deadline=None)
def test_a_written_map_is_read_by_flatbuffers(found: dict[str, int | float]) -> None:
    content = write_map(found)
    assert read_map(content) == flexbuffers.Loads(content) == found
    assert {name: type(value) for name, value in read_map(content).items()} == {
        name: type(value) for name, value in found.items()
    }
