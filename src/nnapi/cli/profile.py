"""The option of commands that work for a device that is not here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from nnapi.runtime.device import REFERENCE

SUFFIX = ".toml"

ProfileFile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help="As on the device that this file describes, or that profile of ours, and the CPU beside it.",
    ),
]


def add_profile(profile: str | None, devices: Sequence[str] | None) -> list[str] | None:
    """The names of the devices to choose among: the profile's with those given, or with the CPU as on a phone."""
    if profile is None:
        return None if devices is None else list(devices)
    return [profile if profile.endswith(SUFFIX) else profile + SUFFIX, *(devices or [REFERENCE])]
