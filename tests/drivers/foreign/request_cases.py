"""Requests to an agent."""

import struct

from nnapi.drivers.foreign.wire import pack_list

TENSOR = 3
"""TENSOR_FLOAT32."""


def words(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def operand(value: int = 0, dimensions: tuple[int, ...] = (4,)) -> bytes:
    """An operand of floats; ``value`` is the kind of its value."""
    return struct.pack("<ifi", TENSOR, 0.0, 0) + pack_list(dimensions) + words(value, 0, 0)


def model(
    inputs: int = 1, outputs: int = 1, value: int = 0, source: tuple[int, int, int] = (0, 0, 0), operations: int = 1
) -> bytes:
    """A request to make a model, whose first operand has a value of a kind, from a source."""
    count = max(1, inputs + outputs)
    sources = [source, *[(0, 0, 0)] * (count - 1)]
    return b"".join(
        [
            words(count, operations, 0),
            pack_list(range(inputs)),
            pack_list(range(inputs, inputs + outputs)),
            *[struct.pack("<IQQ", *each) for each in sources],
            operand(value),
            *[operand()] * (count - 1),
            *[words(0) + pack_list([0]) + pack_list([1])] * operations,
        ]
    )


def compilation(number: int, device: int = 0, token: int = 0) -> bytes:
    return struct.pack("<IIiiQI", number, device, 1, 100, 0, token)


def run(
    numbers: tuple[int, int],
    counts: tuple[int, int] = (1, 1),
    given: tuple[int, int] = (0, 16),
    length: int = 16,
    rest: bytes = b"",
) -> bytes:
    """A request to run: numbers of compilation and burst; offset and length of the input; length of the output."""
    head = struct.pack("<5I2Q", *numbers, 0, *counts, 0, 0)
    return head + struct.pack("<IQQI", 1, *given, 0) + struct.pack("<IQ", 0, length) + rest
