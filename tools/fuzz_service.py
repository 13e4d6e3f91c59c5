"""Send a service mutated messages and descriptors, while an honest application uses the same service.

    python -m tools.fuzz_service --messages 50000 --seed 1

The program starts a service of the reference (or of ``--device``), and sends it messages of all kinds with changed
values, bytes and descriptors. It fails if the service ends or prints anything, if descriptors or workers are left over,
or if the honest application gets a wrong result or none.

With AddressSanitizer preloaded, the C library's functions are checked wherever the engine and NumPy call them, and all
Python objects are in its heap:

    export PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0,allocator_may_return_null=1,quarantine_size_mb=32
    LD_PRELOAD=$(gcc -print-file-name=libasan.so) python -m tools.fuzz_service
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import socket
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nnapi import Builder, Device, Model, compile, tensor
from nnapi.drivers.isolated import Isolated, plain_values
from nnapi.drivers.isolated.channel import SIZE
from nnapi.drivers.isolated.constants import lay_out
from nnapi.drivers.isolated.descriptors import memory_file, shared_file
from nnapi.drivers.isolated.protocol import HEADER, IN_FILE, MAGIC, VERSION, Body, Message, Violation, receive
from tests.drivers.isolated.service_cases import OPTIONS, RawChannel, RawClient, serving, workers
from tests.waiting import comes_true

HARD: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    2**64,
    -(2**63),
    1e308,
    "",
    "x" * 300,
    [],
    {},
    [[]],
    [None],
    "\ud800",
]
"""Values that are often invalid."""
ANSWER = 10.0
"""Seconds to wait for an answer; a message may start a long run."""
CHECK = 500
"""Messages between two checks of the honest application."""


def make_model() -> Model:
    """Return a model with a constant and two operations."""
    b = Builder("fuzzed")
    x = b.input(tensor("float32", (2, 4)))
    b.output(b.softmax(b.add(x, np.arange(8, dtype=np.float32).reshape(2, 4)), 1.0))
    return b.finish()


class Fuzzer:
    """A client that sends mutated messages, and reconnects whenever the service has closed the connection."""

    def __init__(self, path: Path, seed: int, device: str = "nnapi-reference") -> None:
        self._path, self._device, self._random = path, device, random.Random(seed)
        self._client: RawClient | None = None
        self._channel: RawChannel | None = None
        described, arrays = plain_values.of_model(make_model())
        layout, descriptors = lay_out(arrays)
        for descriptor in descriptors:
            os.close(descriptor)
        self._constants = b"".join(bytes(array) for array in arrays).ljust(1 << 12, b"\0")
        self._seeds: list[tuple[Body, tuple[str, ...]]] = [
            ({"kind": "hello", "device": device, "nice": 0}, ()),
            ({"kind": "channel"}, ("socket", "page", "bell", "bell")),
            ({"kind": "release", "numbers": [7, 8]}, ()),
            ({"kind": "model", "model": described, "layout": {**layout, "sizes": [32]}}, ("constants",)),
            ({"kind": "verdicts", "model": 1}, ()),
            ({"kind": "prepare", "model": 1, "options": OPTIONS}, ()),
            ({"kind": "restore", "model": 1, "options": OPTIONS, "size": 4096, "length": 512}, ("constants",)),
            ({"kind": "cache_entry", "prepared": 2}, ()),
            ({"kind": "session", "prepared": 2}, ()),
            (
                {
                    "kind": "execute",
                    "prepared": 2,
                    "inputs": [[0, [2, 4]]],
                    "arena": 4096,
                    "free": 64,
                    "deadline": None,
                    "loop_timeout": 10**9,
                    "attributes": [],
                },
                ("arena",),
            ),
            ({"kind": "bind", "prepared": 2, "locations": [[[0, [2, 4]]], [[64, [2, 4]]]], "size": 4096}, ("arena",)),
            ({"kind": "spans", "first": 0}, ()),
        ]
        self.outcomes: Counter[str] = Counter()

    def send_one(self) -> None:
        """Send one mutated message, and read the answer."""
        body, kinds = copy.deepcopy(self._random.choice(self._seeds))
        to_main = body["kind"] in ("hello", "channel", "release")
        for _ in range(self._random.choice([0, 1, 1, 1, 2, 3])):
            body = self._mutate(body)
        packet, file = self._pack(body)
        descriptors = ([file] if file is not None else []) + self._make_descriptors(kinds)
        channel = self._connect()
        assert self._client is not None
        target = self._client.socket if to_main else channel.socket
        try:
            socket.send_fds(target, [packet], descriptors[:250])
            if self._random.random() < 0.02:
                channel.ring(self._random.choice([0, 1, 2, 2**64 - 1]))
            if not to_main:
                target.settimeout(ANSWER)
                self._note(receive(target))
            if self._random.random() < 0.01:
                self.leave()
        except TimeoutError:
            self.outcomes["no answer"] += 1
            self.leave()
        except (OSError, Violation):
            self.outcomes["disconnected"] += 1
            self.leave()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _note(self, message: Message | None) -> None:
        if message is None:
            raise ConnectionError
        message.close()
        self.outcomes["error" if "error" in message.body else "answer"] += 1
        if message.body.get("closed"):
            raise ConnectionError

    def _connect(self) -> RawChannel:
        if self._client is None or self._channel is None:
            self._client = RawClient(self._path, self._device)
            self._channel = self._client.channel()
            if self._random.random() < 0.9:
                self._channel.prepare(make_model())
        return self._channel

    def leave(self) -> None:
        """Close the connection."""
        client, self._client, self._channel = self._client, None, None
        if client is not None:
            client.close()

    # Mutations

    def _mutate(self, value: Any) -> Any:
        rng = self._random
        if isinstance(value, dict) and value and rng.random() < 0.9:
            key = rng.choice(list(value))
            if rng.random() < 0.1:
                return {name: each for name, each in value.items() if name != key}
            return {**value, key: self._mutate(value[key])}
        if isinstance(value, list) and value and rng.random() < 0.9:
            index = rng.randrange(len(value))
            changed = rng.choice([[], [value[index]] * 3, [self._mutate(value[index])], [self._mutate(value[index])]])
            return [*value[:index], *changed, *value[index + 1 :]]
        if isinstance(value, int) and rng.random() < 0.6:
            return value + rng.choice([-64, -1, 1, 2, 64, 4096])
        return rng.choice(HARD)

    def _pack(self, body: Body) -> tuple[bytes, int | None]:
        """Return the packet of a message, and the file with its body if the packet does not contain it."""
        text = json.dumps(body).encode()
        kind = self._random.random()
        if kind < 0.05:
            text = self._change_bytes(text)
        length = len(text) if kind > 0.02 else self._random.choice([0, 1, len(text) + 1, 2**32 - 1])
        flags = IN_FILE if kind > 0.95 or len(text) > 30_000 else self._random.choice([0] * 40 + [1, 2, 0xFFFF])
        header = HEADER.pack(MAGIC, VERSION, flags, length)
        if 0.05 < kind < 0.07:
            header = self._change_bytes(header)
        if not flags & IN_FILE:
            return header + text, None
        return header, memory_file([text]) if self._random.random() < 0.8 else self._make("null")

    def _change_bytes(self, data: bytes) -> bytes:
        changed = bytearray(data)
        for _ in range(self._random.randint(1, 4)):
            changed[self._random.randrange(len(changed))] = self._random.randrange(256)
        return bytes(changed)

    def _make_descriptors(self, kinds: tuple[str, ...]) -> list[int]:
        wanted = list(kinds)
        if self._random.random() < 0.15 and wanted:
            wanted[self._random.randrange(len(wanted))] = self._random.choice(list(MAKERS))
        if self._random.random() < 0.05:
            wanted += [self._random.choice(list(MAKERS))] * self._random.choice([1, 3, 64, 100])
        if self._random.random() < 0.05:
            wanted = wanted[:-1]
        return [self._make(kind) for kind in wanted]

    def _make(self, kind: str) -> int:
        if kind == "constants":
            return memory_file([self._constants])
        return MAKERS[kind]()


def _plain(size: int) -> int:
    file = os.memfd_create("fuzz", os.MFD_ALLOW_SEALING)
    os.ftruncate(file, size)
    return file


def _socket(kind: int) -> int:
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    other.close()
    return one.detach()


def _pipe() -> int:
    one, other = os.pipe()
    os.close(other)
    return one


MAKERS: dict[str, Callable[[], int]] = {
    "page": lambda: shared_file(SIZE, "fuzz"),
    "arena": lambda: shared_file(4096, "fuzz"),
    "short": lambda: shared_file(100, "fuzz"),
    "plain": lambda: _plain(8192),
    "huge": lambda: _plain(1 << 40),
    "empty": lambda: _plain(0),
    "bell": lambda: os.eventfd(0, os.EFD_NONBLOCK),
    "blocking": lambda: os.eventfd(0),
    "socket": lambda: _socket(socket.SOCK_SEQPACKET),
    "stream": lambda: _socket(socket.SOCK_STREAM),
    "pipe": _pipe,
    "null": lambda: os.open(os.devnull, os.O_RDWR),
    "zero": lambda: os.open("/dev/zero", os.O_RDWR),
    "folder": lambda: os.open("/", os.O_RDONLY),
    "code": lambda: os.open(__file__, os.O_RDONLY),
}
"""Functions that make descriptors, by kind."""


def fuzz(messages: int, seed: int, seconds: float = 1e9, device: str = "nnapi-reference") -> Counter[str]:
    """Send ``messages`` messages, or as many as fit in ``seconds``; return the numbers of outcomes.

    Raise AssertionError if the service violates a requirement.
    """
    given = np.arange(8, dtype=np.float32).reshape(2, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        served = serving(path, "rate=1000000", "seconds=5", "memory=1073741824", f"devices={device}")
        with served as process, Device(Isolated(device, service=path)) as honest:
            compiled = compile(make_model(), honest)
            expected = compiled.run(given)[0]
            before = len(os.listdir(f"/proc/{process.pid}/fd"))
            own = workers(process.pid)
            fuzzer = Fuzzer(path, seed, device)
            end = time.monotonic() + seconds
            for number in range(messages):
                if time.monotonic() > end:
                    break
                fuzzer.send_one()
                if number % CHECK == 0:
                    assert (compiled.run(given)[0] == expected).all()
                fuzzer.outcomes["sent"] += 1
            fuzzer.leave()
            assert comes_true(lambda: workers(process.pid) == own), "workers are left over"
            assert comes_true(lambda: len(os.listdir(f"/proc/{process.pid}/fd")) <= before), "descriptors are left over"
            assert workers(process.pid) == own, "the honest application's worker has ended"
            assert (compiled.run(given)[0] == expected).all()
    return fuzzer.outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="nnapi-reference")
    options = parser.parse_args()
    begin = time.monotonic()
    found = fuzz(options.messages, options.seed, options.seconds, options.device)
    print(f"{dict(found)} in {time.monotonic() - begin:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
