"""``nnapi devices``: list the devices of this machine, and the drivers that cannot be used."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

import nnapi
from nnapi.capi import installation
from nnapi.cli.command import refuse_options
from nnapi.cli.options import Json, Names, device_option
from nnapi.cli.printing import console, duration, indent, print_json, table
from nnapi.cli.progress import progress
from nnapi.codes import OperandCode
from nnapi.contract.driver import Capabilities, Performance
from nnapi.contract.timings import Timed, Timings, find_processor
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.store.files import write_text


def devices(
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="Also show the capabilities that each device declares.")
    ] = False,
    costs: Annotated[bool, typer.Option("--costs", help="Show the predicted costs of operations instead.")] = False,
    save_profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Ask the device which operations it supports, and write the answers as a profile to this file.",
        ),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --save-profile: read the profile from this table (operation, type, supported) instead.",
        ),
    ] = None,
    device: Annotated[Names, device_option("Show this device only (may be repeated).")] = None,
    as_json: Json = False,
) -> None:
    """List the devices, and the drivers that cannot be used, with reasons."""
    if save_profile:
        refuse_options(["verbose", "costs", "as_json"], "--save-profile writes a file instead")
    else:
        refuse_options(["matrix"], "it needs --save-profile, the file to write")
    if matrix:
        refuse_options(["device"], "--matrix describes the device")
    if costs:
        refuse_options(["verbose"], "--costs shows costs instead")
    if matrix and save_profile:
        _save_matrix(matrix, save_profile)
        return
    found = [nnapi.device(name) for name in device] if device else nnapi.devices()
    out = console()
    if save_profile:
        _save_profile(device or (), save_profile)
    elif costs and as_json:
        timings = _find_timings(found).items()
        print_json("costs", {"devices": {name: known and _describe_timings(known) for name, known in timings}})
    elif costs:
        out.print(_list_costs(found))
    elif as_json:
        print_json("devices", {"devices": [_describe(each) for each in found], "unavailable": _list_unavailable()})
    else:
        out.print(_list_devices(found, verbose) if found else "no device is available")
        if not device and (unavailable := _list_unavailable()):
            rows = ((f"[yellow]{escape(each['name'])}[/]", Text(each["reason"])) for each in unavailable)
            out.print()
            out.print(table("unavailable", "reason", rows=rows))


def _save_profile(names: Sequence[str], file: Path) -> None:
    from nnapi.codes import OperationCode
    from nnapi.testing.device_survey import survey_device  # on demand: listing the devices does not need it

    if len(names) != 1:
        known = ", ".join(device.name for device in nnapi.devices())
        raise Mistake(f"--save-profile needs --matrix or exactly one --device ({known})")
    (name,) = names
    out = console()
    with progress(out, len(OperationCode)) as step:
        profile = survey_device(nnapi.device(name), progress=step, file=file)
    out.print(
        f"{name} supports {pluralize(len(profile.operations), 'operation')}; profile written to {file}", markup=False
    )


def _save_matrix(matrix: Path, file: Path) -> None:
    from nnapi.profiles.support_tables import read_matrix
    from nnapi.profiles.writing import write_profile

    write_text(file, write_profile(read_matrix(matrix)))
    console().print(f"profile of {matrix} written to {file}", markup=False)


def _find_timings(found: Sequence[nnapi.Device]) -> dict[str, Timings | None]:
    drivers = {device.name: device.driver for device in found}
    return {name: driver.timings() if isinstance(driver, Timed) else None for name, driver in drivers.items()}


def _describe_timings(known: Timings) -> dict[str, Any]:
    costs = {f"{kind}, {element}": cost._asdict() for (kind, element), cost in known.costs.items()}
    return {"launch_seconds": known.launch, "seconds_per_byte": known.byte, "costs": costs}


def _list_costs(found: Sequence[nnapi.Device]) -> RenderableType:
    parts: list[RenderableType] = [f"predicted on one thread of a processor with {find_processor()}", ""]
    substitutes = {device.name: device.substitute for device in found}
    for name, known in _find_timings(found).items():
        heading = f"[bold]{escape(name)}[/]"
        if known is None:
            why = substitutes[name] or "no measured costs; the declared capabilities are used"
            parts += [f"{heading}: {why}", ""]
            continue
        rows = table("operations", "operands", "each", "a MAC", "a byte", right=["each", "a MAC", "a byte"])
        for (kind, element), cost in sorted(known.costs.items()):
            mac, byte = f"{1e9 * cost.mac:.3g} ns", f"{1e9 * cost.byte:.3g} ns"
            rows.add_row(kind, element, f"{1e6 * cost.operation:.3g} µs", mac, byte)
        copies = f"{1e9 * known.byte:.3g} ns a byte"
        parts += [f"{heading}: launch {duration(known.launch)}, copies {copies}", indent(rows), ""]
    return Group(*parts)


def _list_devices(found: Sequence[nnapi.Device], verbose: bool) -> RenderableType:
    if not verbose:
        rows = ((f"[bold]{escape(device.name)}[/]", *_facts(device)) for device in found)
        return table("device", "type", "version", "feature level", rows=rows, right=["feature level"])
    parts: list[RenderableType] = []
    for device in found:
        type, version, level = _facts(device)
        parts.append(f"[bold]{escape(device.name)}[/] {version}, {type}, feature level {level}")
        parts += [indent(_details(device)), ""]
    return Group(*parts)


def _facts(device: nnapi.Device) -> tuple[str, str, str]:
    return escape(device.type.name.removeprefix("DEVICE_")), escape(device.version), str(device.feature_level.level)


def _details(device: nnapi.Device) -> Table:
    module, path = _find_source(device)
    rows = [
        ("driver", module),
        ("path", path),
        ("extensions", ", ".join(device.extensions) or "none"),
        *([("is", device.substitute)] if device.substitute else _list_declared(device.driver.capabilities())),
    ]
    return table("", "", rows=((name, Text(fact)) for name, fact in rows), has_header=False)


def _list_declared(declared: Capabilities) -> Iterator[tuple[str, str]]:
    yield "transfer", f"{1e6 * declared.launch_seconds:g} µs and {1e9 * declared.seconds_per_byte:g} ns a byte"
    for number, (names, performance) in enumerate(_by_performance(declared)):
        factors = f"{performance.exec_time:g} × the reference's time, {performance.power_usage:g} × its power"
        yield "" if number else "declares", f"{factors} for {', '.join(names)}"


def _by_performance(declared: Capabilities) -> list[tuple[list[str], Performance]]:
    groups: dict[Performance, list[str]] = {}
    for name, performance in _list_performances(declared).items():
        groups.setdefault(Performance(*performance), []).append(name)
    return [(["everything"] if len(groups) == 1 else names, performance) for performance, names in groups.items()]


def _list_performances(declared: Capabilities) -> dict[str, Performance]:
    """Return every declared performance by its name; ``other types`` are the operand types that are not listed."""
    return {
        **{OperandCode(code).name: performance for code, performance in declared.by_type.items()},
        "other types" if declared.by_type else "all types": declared.default,
        "relaxed float32": declared.relaxed,
        "IF": declared.if_,
        "WHILE": declared.while_,
    }


def _find_source(device: nnapi.Device) -> tuple[str, str]:
    module = type(device.driver).__module__
    return module, getattr(sys.modules.get(module), "__file__", None) or "unknown"


def _describe(device: nnapi.Device) -> dict[str, Any]:
    module, path = _find_source(device)
    declared = None if device.substitute else device.driver.capabilities()
    performances = _list_performances(declared) if declared else {}
    return {
        "name": device.name,
        "type": device.type.name,
        "version": device.version,
        "feature_level": device.feature_level.level,
        "extensions": list(device.extensions),
        "capabilities": {name: Performance(*each)._asdict() for name, each in performances.items()},
        "launch_seconds": declared and declared.launch_seconds,
        "seconds_per_byte": declared and declared.seconds_per_byte,
        "driver": {"module": module, "path": path},
    }


def _list_unavailable() -> list[dict[str, str]]:
    """List the drivers that cannot be used, and the C library if pip did not build it, which pip does not report."""
    rows = [{"name": each.name, "reason": each.reason} for each in nnapi.unavailable_devices()]
    problem = installation.library_problem()
    return [*rows, {"name": installation.NAME, "reason": problem}] if problem else rows
