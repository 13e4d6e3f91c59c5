"""The digest with which a service recognizes the cache entries that it wrote."""

import numpy as np
import pytest

from nnapi import Builder, Model, tensor
from nnapi.drivers.isolated import channel_server
from nnapi.errors import NnapiError
from tests.drivers.isolated.isolated_cases import model


def test_the_owner_of_a_cache_entry() -> None:
    """The digest depends on key, model, constants and content, and on where each of them ends."""
    one, other = model(), model("neg")
    sealed = channel_server.seal_entry(b"key", one, b"content")
    assert (sealed[:7], len(sealed)) == (b"content", 7 + 32)
    assert channel_server.open_entry(b"key", one, sealed) == b"content"
    for key, owner, entry in (
        (b"other", one, sealed),
        (b"key", other, sealed),
        (b"key", one, b"x" + sealed[1:]),
        (b"key", one, sealed[:-1]),
        (b"key", one, sealed[-32:]),
        (b"key", one, b""),
    ):
        with pytest.raises(NnapiError, match="was not written by this service for this model"):
            channel_server.open_entry(key, owner, entry)


def test_the_digest_depends_on_constants() -> None:
    def adding(value: float) -> Model:
        b = Builder("adding")
        b.output(b.add(b.input(tensor("float32", (2,))), np.full((2,), value, np.float32)))
        return b.finish()

    sealed = channel_server.seal_entry(b"key", adding(1), b"content")
    assert channel_server.open_entry(b"key", adding(1), sealed) == b"content"
    with pytest.raises(NnapiError, match="was not written by this service for this model"):
        channel_server.open_entry(b"key", adding(2), sealed)
