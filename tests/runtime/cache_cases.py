"""A device whose preparation takes long and is worth keeping; also what another process runs in the tests of caches.

    python cache_cases.py DIRECTORY [TIMES]

compiles a model with a cache, that many times, and prints for each what was prepared and what was restored.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nnapi import Builder, Device, Model, compile, device, tensor
from nnapi.contract.driver import CacheEntry, Capabilities, Prepared, PrepareOptions, Verdict
from nnapi.drivers.limited import Limited

TOKEN = bytes(range(32))
SLEEP = 0.2


class Slow:
    """The reference, with a nap before it prepares; what it keeps is the name of the model."""

    def __init__(self, name: str = "slow", version: str = "1", nap: float = 0.0) -> None:
        self._reference = device("nnapi-reference").driver
        inner = Limited(self._reference, name).info
        self.info = type(inner)(name, version, inner.type, inner.feature_level)
        self.nap = nap
        self.prepared: list[str] = []
        self.restored: list[bytes] = []
        self.refuses_to_restore = False
        self.worth_keeping = True

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return self._reference.verdicts(model)

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        time.sleep(self.nap)
        self.prepared.append(model.name)
        return self._reference.prepare(model, options)

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        return b"entry of " + self.prepared[-1].encode() if self.worth_keeping else None

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        if self.refuses_to_restore:
            raise ValueError("an entry of an older release")
        self.restored.append(bytes(entry.content))
        return self._reference.prepare(model, options)


def doubled(name: str = "doubled", weight: float = 2.0) -> Model:
    b = Builder(name)
    b.output(b.mul(b.input(tensor("float32", (2,))), np.full(2, weight, np.float32)))
    return b.finish()


def letters(digest: bytes) -> str:
    """The name that a digest gives an entry."""
    return "".join(f"{chr(65 + byte % 16)}{chr(65 + byte // 16)}" for byte in digest)


def main(directory: Path, times: int) -> None:
    driver = Slow(nap=SLEEP)
    chosen = Device(driver)
    model = doubled()
    compile(model, "nnapi-reference")  # imports what has not been imported
    for _ in range(times):
        compilation = compile(model, chosen, cache=(directory, TOKEN))
        assert compilation.run(np.array([1, 2], np.float32))[0].tolist() == [2, 4]
        print(len(driver.prepared), len(driver.restored))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 1)
