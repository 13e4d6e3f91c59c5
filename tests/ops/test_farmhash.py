"""Fingerprint64, on numbers made by the published implementation."""

import numpy as np
import pytest

from nnapi.ops.farmhash import fingerprint64


def test_literal() -> None:
    (found,) = fingerprint64(np.frombuffer(b"foo", np.uint8)[np.newaxis])
    assert found == 6150913649986995171


@pytest.mark.parametrize(
    ("length", "want"),
    [
        (0, 11160318154034397263),
        (1, 4787810249829893994),
        (3, 1391590960341357285),
        (4, 3619413562002331273),
        (7, 5138258794329386303),
        (8, 15127373499640594037),
        (16, 9132282887635958191),
        (17, 10094098598742107509),
        (32, 1475822848089102354),
        (33, 3866183590954251975),
        (64, 6051418118350774546),
        (65, 6679835003255813421),
        (128, 6827179042433194566),
        (129, 14310587933091061600),
        (200, 13149894016708784121),
    ],
)
def test_every_kind_of_length(length: int, want: int) -> None:
    key = np.array([(i * 37 + length * 11) % 128 for i in range(length)], np.uint8)
    other = key ^ 1
    found = fingerprint64(np.stack([other, key]))
    assert found[1] == want
    assert length == 0 or found[0] != want
