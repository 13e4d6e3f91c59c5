"""Constants of models in an agent's memory; each is sent once per connection."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from nnapi.drivers.foreign.wire import MOST_DATA, align
from nnapi.errors import OpFailedError, need
from nnapi.locks import make_lock
from nnapi.model.operand import Array
from nnapi.store.digest import digest

Send = Callable[[Sequence[Array]], tuple[int, Sequence[int]]]
"""Sends a block of arrays; returns the block's number and the offset of each array in it."""
KEPT = 256 << 20
"""Maximum bytes of unused blocks that stay in the agent's memory."""


class Block:
    """Constants that were sent together; ``uses`` counts the models that use them."""

    def __init__(self, number: int, size: int, digests: Sequence[bytes]) -> None:
        self.number, self.size, self.digests, self.uses = number, size, digests, 0


class Constants:
    """The block and offset of each constant in the agent's memory, by digest. Safe to use from several threads."""

    def __init__(self) -> None:
        self._found: dict[bytes, tuple[Block, int]] = {}
        self._unused: dict[Block, None] = {}
        self._left: deque[Block] = deque()
        """Blocks whose uses are not counted down yet."""
        self._lock = make_lock()

    def place(self, arrays: Iterable[Array], send: Send) -> list[tuple[bytes, Block, int]]:
        """Return digest, block and offset of each array; send missing arrays. Uses of the blocks are counted up."""
        given = [(digest(array), array) for array in map(np.ascontiguousarray, arrays)]
        with self._lock:
            return self._place(given, send)

    def _place(self, given: Sequence[tuple[bytes, Array]], send: Send) -> list[tuple[bytes, Block, int]]:
        waiting: dict[bytes, Array] = {}
        for key, array in given:
            need(
                array.nbytes <= MOST_DATA,
                f"a constant has {array.nbytes} bytes, at most {MOST_DATA} are possible",
                OpFailedError,
            )
            if key in self._found:
                continue
            if sum(align(each.nbytes) for each in waiting.values()) + array.nbytes > MOST_DATA:
                self._add(waiting, send)
                waiting = {}
            waiting[key] = array
        if waiting:
            self._add(waiting, send)
        placed = [(key, *self._found[key]) for key, _ in given]
        for block in {block for _, block, _ in placed}:
            block.uses += 1
            self._unused.pop(block, None)
        return placed

    def leave(self, blocks: Iterable[Block]) -> list[int]:
        """Count uses of blocks down; forget unused ones beyond KEPT bytes, and return their numbers for release. While
        constants are placed, leave this to the next call: a finalizer may call this in any thread."""
        self._left.extend(blocks)
        if not self._lock.acquire(blocking=False):
            return []
        try:
            return self._drop_unused()
        finally:
            self._lock.release()

    def _drop_unused(self) -> list[int]:
        while self._left:
            block = self._left.popleft()
            block.uses -= 1
            if not block.uses:
                self._unused[block] = None
        dropped = []
        while sum(block.size for block in self._unused) > KEPT:
            block = next(iter(self._unused))
            del self._unused[block]
            dropped.append(block.number)
            for key in block.digests:
                self._found.pop(key, None)  # another thread may have sent the same constant
        return dropped

    def _add(self, arrays: dict[bytes, Array], send: Send) -> None:
        number, offsets = send([*arrays.values()])
        block = Block(number, sum(array.nbytes for array in arrays.values()), [*arrays])
        self._unused[block] = None
        for key, offset in zip(arrays, offsets, strict=True):
            self._found[key] = block, offset
