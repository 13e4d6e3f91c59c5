"""Entries of the cache: what goes in comes out, and another version is refused."""

import pytest

from nnapi.drivers.base import CacheEntry
from nnapi.drivers.litert.artifact import TAIL
from nnapi.drivers.webgpu.driver import Compiled, WebGpuDriver

CLOSED = Compiled(b"a file", (True, False), False, None)
OPEN = Compiled(b"", (False,), True, ((1, 2), None))
DRIVER = WebGpuDriver("a GPU")


@pytest.mark.parametrize("compiled", [CLOSED, OPEN])
def test_an_entry_is_what_was_packed(compiled: Compiled) -> None:
    assert DRIVER.unpack(CacheEntry(memoryview(DRIVER.pack(compiled)))) == compiled


def test_another_version_is_refused() -> None:
    entry = DRIVER.pack(CLOSED)
    with pytest.raises(ValueError, match=r"it has version 0, the driver's is 2"):
        DRIVER.unpack(CacheEntry(entry[: -TAIL.size] + TAIL.pack(0, 2)))
