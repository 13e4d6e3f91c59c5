"""FarmHash Fingerprint64, the 64-bit hash of LSH_PROJECTION, computed for many keys at once."""

import numpy as np

from nnapi.model.operand import Array

K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
MASK = 2**64 - 1
Pair = tuple[Array, Array]


def fingerprint64(keys: Array) -> Array:
    """Hash uint8 keys [n, length] to uint64 [n]."""
    length = keys.shape[1]
    if length > 64:
        return _long(keys)
    if length > 32:
        return _up_to_64(keys)
    if length > 16:
        return _ends(keys)[1]
    return _up_to_16(keys)


def _fetch(keys: Array, at: int, size: int = 8) -> Array:
    """Return the little-endian integer at offset ``at`` of each key; negative offsets count from the end."""
    at %= keys.shape[1]
    return np.ascontiguousarray(keys[:, at : at + size]).view(f"<u{size}")[:, 0].astype(np.uint64)


def _rotate(x: Array, by: int) -> Array:
    return x >> by | x << (64 - by)


def _fold(x: Array) -> Array:
    return x ^ x >> 47


def _mix(x: Array, y: Array, factor: Array | int) -> Array:
    z = _fold((x ^ y) * factor)
    return _fold((y ^ z) * factor) * factor


def _factor(keys: Array) -> int:
    return (K2 + 2 * keys.shape[1]) & MASK


def _up_to_16(keys: Array) -> Array:
    length = keys.shape[1]
    if length >= 8:
        factor = _factor(keys)
        head, tail = _fetch(keys, 0) + K2, _fetch(keys, -8)
        return _mix(_rotate(tail, 37) * factor + head, (_rotate(head, 25) + tail) * factor, factor)
    if length >= 4:
        return _mix((_fetch(keys, 0, 4) << 3) + length, _fetch(keys, -4, 4), _factor(keys))
    if length:
        first, middle, last = (_fetch(keys, at, 1) for at in (0, length // 2, -1))
        return _fold((first + (middle << 8)) * K2 ^ ((last << 2) + length) * K0) * K2
    return np.full(len(keys), K2, np.uint64)


def _ends(keys: Array) -> tuple[Array, Array, Array]:
    """Return two hashes of the first and last 16 bytes of each key, and one of the first 8 bytes."""
    factor = _factor(keys)
    first = _fetch(keys, 0)
    second, penultimate, last = _fetch(keys, 8), _fetch(keys, -16) * K2, _fetch(keys, -8) * factor
    first = first * (K1 if keys.shape[1] <= 32 else K2)
    x = _rotate(first + second, 43) + _rotate(last, 30) + penultimate
    return x, _mix(x, first + _rotate(second + K2, 18) + last, factor), first


def _up_to_64(keys: Array) -> Array:
    factor = _factor(keys)
    x, y, first = _ends(keys)
    third, fourth = _fetch(keys, 16) * factor, _fetch(keys, 24)
    x, y = (x + _fetch(keys, -32)) * factor, (y + _fetch(keys, -24)) * factor
    return _mix(_rotate(third + fourth, 43) + _rotate(x, 30) + y, third + _rotate(fourth + first, 18) + x, factor)


def _long(keys: Array) -> Array:
    length = keys.shape[1]
    x = np.full(len(keys), 81 * K2 & MASK, np.uint64) + _fetch(keys, 0)
    y = np.full(len(keys), (81 * K1 + 113) & MASK, np.uint64)
    z = _fold(y * K2 + 113) * K2
    v = w = (np.zeros_like(x), np.zeros_like(x))
    for start in range(0, (length - 1) // 64 * 64, 64):
        x, y, z, v, w = _round(keys[:, start : start + 64], x, y, z, v, w, K1, 1)
    factor = ((z & 0xFF) << 1) + K1
    carried = w[0] + (length - 1) % 64
    v = (v[0] + carried, v[1])
    w = (carried + v[0], w[1])
    x, y, z, v, w = _round(keys[:, -64:], x, y, z, v, w, factor, 9)
    return _mix(_mix(v[0], w[0], factor) + _fold(y) * K0 + z, _mix(v[1], w[1], factor) + x, factor)


def _round(
    chunk: Array, x: Array, y: Array, z: Array, v: Pair, w: Pair, factor: Array | int, weight: int
) -> tuple[Array, Array, Array, Pair, Pair]:
    x = _rotate(x + y + v[0] + _fetch(chunk, 8), 37) * factor ^ w[1] * weight
    y = _rotate(y + v[1] + _fetch(chunk, 48), 42) * factor + v[0] * weight + _fetch(chunk, 40)
    z = _rotate(z + w[0], 33) * factor
    v = _weak(chunk[:, :32], v[1] * factor, x + w[0])
    w = _weak(chunk[:, 32:], z + w[1], y + _fetch(chunk, 16))
    return z, y, x, v, w


def _weak(chunk: Array, a: Array, b: Array) -> Pair:
    first, second, third, fourth = (_fetch(chunk, at) for at in (0, 8, 16, 24))
    a = a + first
    b = _rotate(b + a + fourth, 21)
    c = a + second + third
    return c + fourth, b + _rotate(c, 44) + a
