"""The requirements of `make wheel` on a wheel's name."""

import pytest

from tools import wheels
from tools.environment import FailedError


def test_oldest_glibc_of_a_name() -> None:
    assert wheels.glibc("nnapi-1.0.0-cp311-cp311-manylinux_2_28_x86_64.whl") == (2, 28)
    assert wheels.glibc("nnapi-1.0.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl") == (2, 17)
    with pytest.raises(FailedError, match="no manylinux tag"):
        wheels.glibc("nnapi-1.0.0-cp311-cp311-linux_x86_64.whl")
