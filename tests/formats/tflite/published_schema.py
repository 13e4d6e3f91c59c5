"""The published schema, as the FlatBuffers compiler made classes of it: what it calls our fields, and their numbers."""

from typing import Any

import tflite

SHORTENED = {
    "activation": "fused_activation_function",
    "dilation_w": "dilation_w_factor",
    "dilation_h": "dilation_h_factor",
    "dilation_d": "dilation_d_factor",
    "multiplier": "depth_multiplier",
    "filter_w": "filter_width",
    "filter_h": "filter_height",
    "FullyConnectedOptions.keep_dims": "keep_num_dims",
    "PackOptions.count": "values_count",
    "ArgMaxOptions.type": "output_type",
    "ArgMinOptions.type": "output_type",
    "ShapeOptions.type": "out_type",
    "CastOptions.source": "in_data_type",
    "CastOptions.target": "out_data_type",
}
"""The schema's names of fields that we abbreviate."""


def plain(name: str) -> str:
    return name.replace("_", "").lower()


def published(kind: str, name: str) -> str:
    """The published name of a field of ours, without underscores."""
    return plain(SHORTENED.get(f"{kind}.{name}") or SHORTENED.get(name) or name)


def setters(kind: str) -> dict[str, Any]:
    """The functions that set a field of a table, by the field's name without underscores."""
    start = f"{kind}Add"
    return {plain(name[len(start) :]): getattr(tflite, name) for name in dir(tflite) if name.startswith(start)}


def getter(table: Any, kind: str, name: str) -> Any:
    """The method that gives a field of ours."""
    return next(getattr(table, each) for each in dir(table) if plain(each) == published(kind, name))


def slots(kind: str) -> dict[str, int]:
    """The numbers under which the generated functions set the fields of a table."""
    found: dict[str, int] = {}

    class Recorder:
        def __init__(self, name: str) -> None:
            self.name = name

        def __getattr__(self, _: str) -> Any:
            return lambda slot, *_: found.__setitem__(self.name, slot)

    for name, setter in setters(kind).items():
        setter(Recorder(name), 0)
    return found
