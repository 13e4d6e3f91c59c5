"""States: what is permitted in them, and what is said where it is not."""

import pytest

from nnapi.errors import BadStateError
from nnapi.model.lifecycle import State


def test_what_is_permitted_passes() -> None:
    state = State("the door is", "open")
    state.need("open", to="enter")
    state.need("closed", "open")
    state.value = "closed"
    state.need("closed", "open")
    assert str(state) == "closed"


def test_what_is_not_permitted_is_refused_in_a_message() -> None:
    state = State("the door is", "closed")
    with pytest.raises(BadStateError, match="^cannot enter: the door is closed, not open$"):
        state.need("open", to="enter")
    with pytest.raises(BadStateError, match="^the door is closed, not open or ajar$"):
        state.need("open", "ajar")
