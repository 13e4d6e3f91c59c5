"""A model's constants, sent as file descriptors: constants of mapped files without a copy, others in one memory
file."""

import mmap
import os
from collections.abc import Callable, Sequence
from typing import Any

from nnapi.drivers.isolated.arena import round_up
from nnapi.drivers.isolated.descriptors import memory_file, need_constants
from nnapi.drivers.isolated.protocol import MOST_DESCRIPTORS
from nnapi.errors import BadDataError, need
from nnapi.model.memory import Memory, mappings, view_bytes
from nnapi.model.operand import Array

MapFile = Callable[[int, int], Memory]
SMALL = 256
"""Constants up to this size in bytes are copied, without a search for their file."""


def lay_out(arrays: Sequence[Array]) -> tuple[dict[str, Any], list[int]]:
    """Return the location of each constant, and descriptors of the files that hold them, for the caller to close."""
    files: dict[int, int | None] = {}
    descriptors: list[int] = []
    locations: list[list[int]] = []
    packed: list[Any] = []
    size = 0
    for array in arrays:
        found = _in_file(array, files, descriptors)
        if found is None:
            data = view_bytes(array)
            found = [-1, size, data.nbytes]  # -1: the last file; offset; length
            length = round_up(data.nbytes)
            packed += [data, bytes(length - data.nbytes)]
            size += length
        locations.append(found)
    if packed:
        descriptors.append(memory_file(packed, "nnapi-constants"))
    sizes = [os.fstat(descriptor).st_size for descriptor in descriptors]
    return {"sizes": sizes, "locations": locations}, descriptors


def _in_file(array: Array, files: dict[int, int | None], descriptors: list[int]) -> list[int] | None:
    """Return file number, offset and length of a constant; None if it is not in a file that can be opened again."""
    owners = mappings([array]) if array.nbytes > SMALL and array.flags.c_contiguous else []
    if not owners:
        return None
    (mapping,) = owners
    if id(mapping) not in files:
        files[id(mapping)] = None
        if mapping.file is not None and len(descriptors) < MOST_DESCRIPTORS - 1:
            descriptor = mapping.file.open()
            if descriptor is not None:
                descriptors.append(descriptor)
                files[id(mapping)] = len(descriptors) - 1
    number = files[id(mapping)]
    return None if number is None else [number, mapping.offset_of(array), array.nbytes]


def map_file(size: int, descriptor: int) -> Memory:
    """Map a file of constants for reading; raise BadDataError if it is unsafe to map."""
    need_constants(descriptor, size)
    return Memory.from_fd(size, mmap.PROT_READ, descriptor)


def map_constants(
    layout: dict[str, Any], descriptors: Sequence[int], map_one: MapFile = map_file
) -> Callable[[int], Array]:
    """Return a function from a constant's number to its bytes, in files that ``map_one`` maps."""
    sizes, locations = layout["sizes"], layout["locations"]
    need(len(sizes) == len(descriptors), f"{len(descriptors)} files came, {len(sizes)} are described", BadDataError)
    files = [map_one(size, descriptor) for size, descriptor in zip(sizes, descriptors, strict=True)]

    def constant(number: int) -> Array:
        file, offset, length = locations[number]
        view: Array = files[file].view()
        need(offset >= 0 and 0 <= length <= len(view) - offset, f"constant {number} is not in its file", BadDataError)
        return view[offset : offset + length]

    return constant
