"""Conformance examples of several operations through a plan of two devices: one of each kind, as what a partition does
depends on operations and operands but not on values."""

import zlib

import pytest

from nnapi import Device, DeviceTypeCode, device
from nnapi.drivers.limited import Limited
from nnapi.model.model import Model, OperationCall
from nnapi.testing.conformance import check
from nnapi.testing.corpus import Corpus
from nnapi.testing.suite.result import Status
from nnapi.testing.variants import VARIANTS, Setting
from tests.first_examples import kind_of

PARTS = 4
LEAST = 100
"""Examples of each part."""
PLAIN = VARIANTS["plain"]


def half(share: int) -> Device:
    """The reference, refusing what chance gives to the other half; a model's third part both take."""

    def refuses(model: Model, call: OperationCall) -> str | None:
        draw = zlib.crc32(f"{model.name}/{call.number}/{call.code}".encode()) % 3
        return None if draw in (share, 2) else f"{call}: not for half {share}"

    return Device(Limited(device("nnapi-reference").driver, f"half-{share}", refuses, type=DeviceTypeCode.DEVICE_CPU))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_two_halves_make_a_whole(corpus: Corpus, part: int) -> None:
    setting, seen = Setting((half(0), half(1))), set[object]()
    files = sorted({entry.file for entry in corpus.entries})[part::PARTS]
    results = []
    for example in (example for file in files for example in corpus.load(file)):
        kind = kind_of(example)
        if len(example.main.operations) > 1 and PLAIN.applies(example.harness) and kind not in seen:
            results.append(check(example, PLAIN, setting))
            seen.add(kind)
    bad = [f"{result.example}: {result.reason}" for result in results if result.status != Status.PASSED]
    assert len(results) > LEAST
    assert not bad, bad[:10]
