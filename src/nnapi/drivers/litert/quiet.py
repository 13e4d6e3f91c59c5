"""Hide the message that LiteRT writes to stderr for a new delegate. It has no option for that."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from nnapi.locks import make_lock

MESSAGE = b"INFO: Created TensorFlow Lite XNNPACK delegate"
_lock = make_lock()


@contextmanager
def hide_delegate_message() -> Iterator[None]:
    """Hold back writes to stderr during the block, then forward them without that message."""
    with _lock, open(os.memfd_create("nnapi-stderr"), "w+b") as held:
        try:
            stderr = os.dup(2)
        except OSError:  # the process has no stderr
            yield
            return
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            held.seek(0)
            for line in held.read().splitlines(keepends=True):
                if not line.startswith(MESSAGE):
                    os.write(stderr, line)
            os.close(stderr)
