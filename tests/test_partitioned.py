"""Every conformance example through a plan of two devices, so that partitioning itself is tested on all of them."""

import zlib

import pytest

from nnapi import Device, DeviceTypeCode, device
from nnapi.drivers.limited import Limited
from nnapi.model.model import Model, OperationCall
from nnapi.testing.conformance import run
from nnapi.testing.corpus import Corpus
from nnapi.testing.suite.result import Status

PARTS = 8


def half(share: int) -> Device:
    """The reference, refusing what chance gives to the other half; a model's third part both take."""

    def refuses(model: Model, call: OperationCall) -> str | None:
        draw = zlib.crc32(f"{model.name}/{call.number}/{call.code}".encode()) % 3
        return None if draw in (share, 2) else f"{call}: not for half {share}"

    return Device(Limited(device("nnapi-reference").driver, f"half-{share}", refuses, type=DeviceTypeCode.DEVICE_CPU))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_two_halves_make_a_whole(corpus: Corpus, part: int) -> None:
    mine = set(corpus.entries[part::PARTS])
    results = list(run(corpus, [half(0), half(1)], ["plain"], mine.__contains__))
    failed = [f"{result.example}: {result.reason}" for result in results if result.status == Status.FAILED]
    skipped = [f"{result.example}: {result.reason}" for result in results if result.status == Status.SKIPPED]
    assert len(results) > 900
    assert not failed, failed[:10]
    assert not skipped, skipped[:10]
