"""Send an agent mutated messages: ``python -m tools.fuzz_agent --messages 50000 --seed 1``.

The agent and a small library, which reads all its inputs, are compiled with the sanitizers for addresses and undefined
behavior. The fuzzer records the messages of a session, and then sends them in other orders and with changed words,
bytes and lengths. It fails if a sanitizer reports anything, a process ends by itself, or the agent no longer answers.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from nnapi.contract.driver import OpenOptions, PrepareOptions, Request
from nnapi.contract.handles import open_handle
from nnapi.drivers.foreign import agent, wire
from nnapi.drivers.foreign.wire import HEADER, Ask, Told
from tests.drivers.foreign.agent_cases import add_constant, is_listening, load_driver
from tests.drivers.foreign.library_cases import COMPILER, build_adder, build_agent, can_compile
from tests.waiting import comes_true

SANITIZE = ["-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
HARD = 0, 1, 2, 3, 4, 5, 64, 255, 256, 2**16, 2**26, 2**30, 2**31 - 1, 2**31, 2**32 - 1
"""Values of words that are often invalid."""
LONGEST = 40
"""The largest number of messages on a connection."""


class Sent(NamedTuple):
    kind: int
    head: bytes
    data: bytes

    def pack(self) -> bytes:
        return HEADER.pack(self.kind, len(self.head), len(self.data)) + self.head + self.data


def can_fuzz() -> bool:
    """Return whether this machine's compiler has the sanitizers, and programs with them run."""
    return can_compile(COMPILER, *SANITIZE)


def fuzz(folder: Path, messages: int, seed: int) -> int:
    """Send messages; return how many were answered without an error. A fault raises AssertionError with its report."""
    assert COMPILER
    program, report = build_agent(COMPILER, folder / "nnapi-agent", *SANITIZE, "-DEXACT"), folder / "report"
    library, path = build_adder(folder, *SANITIZE), folder / "agent"
    rng, answered, count = random.Random(seed), 0, 0
    with report.open("wb") as errors:
        process = subprocess.Popen([program, "--library", library, "--unix", path], stderr=errors)
        try:
            assert comes_true(lambda: is_listening(path))
            session = record(f"unix:{path}")
            while count < messages:
                sequence = [mutate(each, rng) for each in choose(session, rng)]
                count += len(sequence)
                answered += exchange(path, session[0], sequence)
                assert process.poll() is None, report.read_text()
                assert not report.stat().st_size, report.read_text()
            record(f"unix:{path}")
        finally:
            process.terminate()
            process.wait()
    return answered


def record(address: str) -> list[Sent]:
    """Return the messages of a session that uses each kind of message."""
    found: list[Sent] = []
    real = wire.send

    def send(
        connection: socket.socket, kind: Ask, head: bytes, data: Sequence[Any] = (), size: int = 0, end: float = inf
    ) -> None:
        found.append(Sent(kind, head, b"".join(bytes(memoryview(part).cast("B")) for part in data)))
        real(connection, kind, head, data, size, end)

    with patch.object(agent, "send", send):
        driver = load_driver("fuzz", address, 0)
        driver.verdicts(add_constant())
        prepared = driver.prepare(add_constant(), PrepareOptions())
        session = open_handle(prepared, OpenOptions(exclusive=True))
        for each in (session, session, prepared, prepared):  # twice, to reuse the execution
            given = np.arange(64, dtype=np.float32)
            np.testing.assert_array_equal(each.execute(Request([given])).outputs[0], given + 1)
        session.close()
        prepared.close()
        driver._agent.close()
    return found


def choose(session: list[Sent], rng: random.Random) -> list[Sent]:
    """Return the session without its greeting, or the beginning of it followed by random messages of the session."""
    rest = session[1:]
    if rng.random() < 0.3:
        return rest
    begun = rest[: rng.randrange(len(rest))]
    return begun + [rng.choice(session) for _ in range(rng.randrange(LONGEST - len(begun)))]


def mutate(sent: Sent, rng: random.Random) -> Sent:
    """Return the message, in half of the cases with up to three changes."""
    if rng.random() < 0.5:
        return sent
    kind, head, data = sent.kind, bytearray(sent.head), sent.data
    for _ in range(rng.randint(1, 3)):
        match rng.randrange(6):
            case 0 | 1 if len(head) >= 4:
                struct.pack_into("<I", head, 4 * rng.randrange(len(head) // 4), rng.choice(HARD))
            case 2 if head:
                head[rng.randrange(len(head))] ^= 1 << rng.randrange(8)
            case 3:
                del head[rng.randrange(len(head) + 1) :]
            case 4:
                data = data[: rng.randrange(len(data) + 1)]
            case _:
                kind = rng.randrange(12) if rng.random() < 0.2 else kind
    return Sent(kind, bytes(head), data)


def exchange(path: Path, greeting: Sent, sequence: list[Sent]) -> int:
    """Send messages on a new connection, one after the other; return how many were answered without an error."""
    answered = 0
    with socket.socket(socket.AF_UNIX) as connection, suppress(ConnectionError):
        connection.settimeout(60)
        connection.connect(str(path))
        for each in [greeting, *sequence]:
            connection.sendall(each.pack())
            header = connection.recv(HEADER.size, socket.MSG_WAITALL)
            if len(header) < HEADER.size:
                break
            kind, head, size = HEADER.unpack(header)
            assert kind in (Told.ANSWER, Told.ERROR), f"the process ended: {each}"
            rest = head + size
            while rest:
                content = connection.recv(min(rest, 1 << 20))
                assert content, "an answer ends too early"
                rest -= len(content)
            answered += kind == Told.ANSWER
    return answered


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if not can_fuzz():
        sys.exit("this machine has no compiler with the sanitizers")
    scratch = Path(tempfile.mkdtemp())
    try:
        answered = fuzz(scratch, options.messages, options.seed)
    finally:
        shutil.rmtree(scratch)
    print(f"{options.messages} messages of seed {options.seed}, {answered} answered without an error; no fault")


if __name__ == "__main__":
    os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
    main()
