"""Filters of every kind, with an image and a bias each."""

from typing import Any

import numpy as np

from nnapi.model.operand import ChannelQuantization, tensor

FLOAT, UNSIGNED, SIGNED = tensor("float32"), tensor("uint8", (), 0.05, 120), tensor("int8", (), 0.05, -7)


def values(type: Any, random: Any, low: float = -4.0, high: float = 4.0) -> Any:
    if type.dtype.kind == "f":
        return random.uniform(low, high, type.dimensions).astype(type.dtype)
    limits = np.iinfo(type.dtype)
    return random.integers(limits.min, limits.max, type.dimensions, type.dtype, endpoint=True)


FILTERS = {
    "float32": (FLOAT, FLOAT),
    "narrow": (UNSIGNED, tensor("uint8", (), 0.02, 128)),
    "wide": (UNSIGNED, tensor("uint8", (), 0.02, 90)),
    "signed_wide": (SIGNED, tensor("int8", (), 0.02, 40)),
    "per_channel": (UNSIGNED, tensor("quant8_symm_per_channel")),
    "signed_per_channel": (SIGNED, tensor("quant8_symm_per_channel")),
}


def filtered(kind: str, image: Any, filter: Any, channel: Any, units: Any) -> Any:
    """Image, filter and bias of one of the FILTERS; the narrow one stays within ±127 of its zero point."""
    random = np.random.default_rng(len(kind))
    x, w = FILTERS[kind]
    if "per_channel" in kind:
        w = tensor(
            w.code,  # type: ignore[arg-type]
            filter,
            channel=ChannelQuantization(channel, tuple(np.linspace(0.01, 0.03, filter[channel]))),
        )
    w = w.with_dimensions(filter)
    codes = values(w, random)
    if kind == "narrow":
        codes = np.maximum(codes, 1)
    x = x.with_dimensions(image)
    product = 0.0 if w.channel or kind == "float32" else float(np.float32(x.scale) * np.float32(w.scale))
    bias = tensor("float32" if kind == "float32" else "int32", (units,), product)
    offsets = random.uniform(-1, 1, units) if kind == "float32" else random.integers(-900, 900, units)
    out = x if kind == "float32" else tensor(x.code, (), 0.5, x.zero_point)  # type: ignore[arg-type]
    return [(x, values(x, random)), (w, codes), (bias, offsets.astype(bias.dtype))], out.with_dimensions(())
