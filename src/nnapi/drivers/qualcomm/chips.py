"""Qualcomm's chips with an HTP: the numbers by which its compiler knows them."""

import os
from typing import NamedTuple

from nnapi.errors import UnavailableDeviceError, need

VARIABLE = "NNAPI_QUALCOMM"
DEFAULT = "SM8650"


class Chip(NamedTuple):
    """A chip: its number in QNN, and the version of its HTP."""

    name: str
    number: int
    htp: int


CHIPS = {
    chip.name: chip
    for chip in (
        Chip("SM8350", 30, 68),
        Chip("SM8450", 36, 69),
        Chip("SM8475", 42, 69),
        Chip("SM8550", 43, 73),
        Chip("SM8650", 57, 75),
        Chip("SM8750", 69, 79),
    )
}


def find_chip() -> Chip:
    """Return the chip that NNAPI_QUALCOMM names; raise UnavailableDeviceError, with all names, for an unknown one."""
    name = os.environ.get(VARIABLE) or DEFAULT
    known = ", ".join(CHIPS)
    need(name in CHIPS, f"{VARIABLE} is {name!r}, must be one of {known}", UnavailableDeviceError)
    return CHIPS[name]
