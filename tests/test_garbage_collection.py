"""Nothing is collected while modules are imported, and everything afterwards."""

import gc

import pytest

from nnapi.garbage_collection import pause_collecting


def test_collecting_goes_on_afterwards() -> None:
    with pause_collecting():
        assert not gc.isenabled()
        with pause_collecting():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_error() -> None:
    with pytest.raises(ImportError), pause_collecting():
        raise ImportError
    assert gc.isenabled()


def test_who_collects_nothing_goes_on_so() -> None:
    gc.disable()
    try:
        with pause_collecting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
