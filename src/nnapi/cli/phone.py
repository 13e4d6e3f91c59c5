"""``nnapi phone``: install the agent on a phone, and list the phone's NNAPI devices."""

import os
import re
from pathlib import Path
from typing import Annotated

import typer

import nnapi
from nnapi.cli.command import Command
from nnapi.cli.connected_phones import add_phone, drop_phone
from nnapi.cli.printing import console
from nnapi.errors import Mistake, UnavailableDeviceError
from nnapi.host import adb

app = typer.Typer(help="Put the agent on a phone, and list the phone's NNAPI devices.", no_args_is_help=True)

Serial = Annotated[str, typer.Argument(metavar="SERIAL", help="The phone, as `adb devices` names it.")]
Name = Annotated[str, typer.Option(help="The beginning of the devices' names.")]


@app.command(cls=Command)
def push(
    serial: Serial,
    binary: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="The agent, built for the phone's processor.", show_default="the agent in nnapi"
        ),
    ] = adb.BUILT,
    name: Name = "phone",
) -> None:
    """Copy the agent to a phone, start it, and list the phone's devices."""
    adb.push_agent(serial, binary)
    connect(serial, name)


@app.command(cls=Command)
def connect(serial: Serial, name: Name = "phone") -> None:
    """Start the agent if it is not running, list the phone's devices, and remember the phone for later commands."""
    if not re.fullmatch(r"[\w.-]+", name):
        raise Mistake(f"--name is {name!r}, must consist of letters, digits, ., _ and -")
    setting = f"{name}=adb:{serial}"
    os.environ["NNAPI_FOREIGN"] = setting
    found = [device for device in nnapi.devices() if device.name.startswith(f"{name}-")]
    reasons = [each.reason for each in nnapi.unavailable_devices() if each.name == name]
    if reasons:
        raise UnavailableDeviceError(reasons[0])
    out = console()
    for fact in ("ro.product.model", "ro.build.version.release", "ro.build.fingerprint"):
        out.print(f"{fact}: {adb.adb(serial, 'shell', f'getprop {fact}')}", markup=False)
    for device in found:
        kind = device.type.name.removeprefix("DEVICE_")
        level = device.feature_level.level
        out.print(f"{device.name}: {kind}, version {device.version}, feature level {level}", markup=False)
    add_phone(name, serial)
    out.print(
        ("Later nnapi commands find these devices until `nnapi phone disconnect SERIAL`. For other programs:"),
        markup=False,
    )
    out.print(f"export NNAPI_FOREIGN={setting}", markup=False)


@app.command(cls=Command)
def disconnect(serial: Serial) -> None:
    """Forget a phone; later commands do not look for its devices. The agent stays on the phone."""
    drop_phone(serial)


@app.command(cls=Command)
def remove(serial: Serial) -> None:
    """End the agent on a phone, remove its files, and forget the phone."""
    drop_phone(serial)
    adb.remove_agent(serial)
