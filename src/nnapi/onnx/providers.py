"""ONNX Runtime's execution providers, and the devices of nnapi that they stand for."""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

from nnapi.runtime.device import devices, list_candidates

CPU = "CPUExecutionProvider"
"""Stands for any device if it is the only provider, else for the reference."""
VERSION = "1.23.0"
SUFFIX = "ExecutionProvider"
REFERENCE = "nnapi-reference"


class Choice(NamedTuple):
    """The providers of a session, and their devices; None means any device."""

    providers: list[str]
    devices: list[str] | None


def get_available_providers() -> list[str]:
    """Return the names of the devices that nnapi may choose, and CPUExecutionProvider."""
    return [*(device.name for device in list_candidates(None)), CPU]


get_all_providers = get_available_providers


def get_version_string() -> str:
    """Return the version of ONNX Runtime whose interface this package follows."""
    return VERSION


def get_device() -> str:
    """Return the device type of ONNX Runtime's build, which is always the host's."""
    return "CPU"


def choose(providers: Sequence[str | tuple[str, Any]] | None) -> Choice:
    """Return the known providers and their devices; warn about unknown providers, like ONNX Runtime."""
    if providers is None:
        return Choice(get_available_providers(), None)
    for name in list_unknown(providers):
        warnings.warn(
            f"the provider {name!r} is unknown; known are {', '.join(get_available_providers())}",
            UserWarning,
            stacklevel=3,
        )
    there = [name for name in _list_names(providers) if _find_devices(name)] or [CPU]
    if there == [CPU]:
        return Choice(there, None)
    return Choice(there, [*dict.fromkeys(device for name in there for device in _find_devices(name))])


def list_unknown(providers: Sequence[str | tuple[str, Any]]) -> list[str]:
    return [name for name in _list_names(providers) if not _find_devices(name)]


def _list_names(providers: Sequence[str | tuple[str, Any]]) -> list[str]:
    return [*dict.fromkeys(each if isinstance(each, str) else each[0] for each in providers)]


def _find_devices(provider: str) -> list[str]:
    """Return the devices of a provider, which names a device or an engine."""
    if provider == CPU:
        return [REFERENCE]
    stem = provider.removesuffix(SUFFIX).lower()
    present = [device.name for device in devices()]
    return [name for name in present if name == provider or name.partition("-")[0] == stem]
