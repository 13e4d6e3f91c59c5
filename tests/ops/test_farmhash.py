"""Fingerprint64, on numbers made by the published implementation."""

import numpy as np

from nnapi.ops.farmhash import fingerprint64
from tests.rows import each_row


def test_literal() -> None:
    (found,) = fingerprint64(np.frombuffer(b"foo", np.uint8)[np.newaxis])
    assert found == 6150913649986995171


@each_row(
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


def test_two_bytes_by_the_published_formula() -> None:
    """ShiftMix(y · k2 ⊕ z · k0) · k2, of the first byte and the one at length / 2, here the last."""
    k0, k2, modulus = 0xC3A5C85C97CB3127, 0x9AE16A3B2F90404F, 2**64
    mixed = ((7 + (200 << 8)) * k2 ^ (2 + (200 << 2)) * k0) % modulus
    (found,) = fingerprint64(np.array([[7, 200]], np.uint8))
    assert found == (mixed ^ mixed >> 47) * k2 % modulus
