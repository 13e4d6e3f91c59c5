"""Buffers in host memory: what they hold, and for which types."""

import numpy as np
import pytest

from nnapi import tensor
from nnapi.contract.host_memory import HostMemory
from nnapi.errors import OpFailedError


def test_a_buffer_of_the_host() -> None:
    buffer = HostMemory().allocate(tensor("float32", (2,)))
    with pytest.raises(OpFailedError, match="^the buffer holds no data$"):
        buffer.load()
    assert not buffer.has_data
    stored = np.zeros(2, np.float32)
    buffer.store(stored)
    assert buffer.has_data
    assert buffer.load() is stored
    buffer.clear()
    assert not buffer.has_data
    with pytest.raises(OpFailedError, match="^no memory is allocated for unknown dimensions: "):
        HostMemory().allocate(tensor("float32", (0,)))
