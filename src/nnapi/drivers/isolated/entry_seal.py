"""Cache entries with a digest under a secret key: engines read prepared models without checking them, so a service
restores only entries that it wrote for the same model."""

import hmac
import json
from hashlib import blake2b

from nnapi.drivers.isolated import plain_values
from nnapi.errors import BadDataError, need
from nnapi.model.model import Model

SIZE = 32


def seal_entry(key: bytes, model: Model, content: bytes) -> bytes:
    return content + _sign(key, model, content)


def open_entry(key: bytes, model: Model, sealed: bytes) -> bytes:
    """Return the entry without its digest; BadDataError unless the key's owner has written it for this model."""
    content, found = sealed[:-SIZE], sealed[-SIZE:]
    is_own = hmac.compare_digest(found, _sign(key, model, content))
    need(is_own, "the cache entry was not written by this service for this model", BadDataError)
    return content


def _sign(key: bytes, model: Model, content: bytes) -> bytes:
    described, arrays = plain_values.of_model(model)
    digest = blake2b(json.dumps(described).encode(), key=key, digest_size=SIZE)
    for part in (*(plain_values.of_bytes(array).tobytes() for array in arrays), content):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
