"""Compile models for other machines, such as phones, with the vendors' compilers that are devices here."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import nnapi
from nnapi.contract.ahead_of_time import CompilesAhead
from nnapi.contract.driver import PrepareOptions
from nnapi.errors import BadDataError, Mistake, need_value
from nnapi.model.model import Model
from nnapi.printable import pluralize
from nnapi.runtime.verdicts.verdicts import need_verdicts

ADVICE = "no device here compiles for other machines: pip install 'nnapi[qualcomm]'"


@contextmanager
def open_compiler(target: str) -> Iterator[nnapi.Device]:
    """Yield the device that compiles for a target; raise Mistake, with the known targets, for another one."""
    drivers = [device.driver for device in nnapi.devices() if isinstance(device.driver, CompilesAhead)]
    known = {name: driver for driver in drivers for name in driver.list_targets()}
    if target not in known:
        raise Mistake(f"--for is {target}, must be one of {', '.join(known)}" if known else f"--for {target}: {ADVICE}")
    with nnapi.Device(known[target].retarget(target)) as device:  # which ends its process
        yield device


def compile_files(model: Model, device: nnapi.Device, target: str) -> Mapping[str, bytes]:
    """Return the files for the target, by the end of their names. BadDataError unless its compiler takes the whole
    model."""
    driver = device.driver
    reasons = [verdict.reason for verdict in need_verdicts(driver, model) if not verdict.supported]
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if reasons[1:] else ""
        count = f"{len(reasons)} of {pluralize(len(model.operations), 'operation')}"
        raise BadDataError(f"{model.name} is not whole on {target}, which refuses {count}: {reasons[0]}{more}")
    prepared = device.adapter.prepare(model, PrepareOptions())
    assert isinstance(driver, CompilesAhead)
    try:
        entry = driver.cache_entry(prepared)
    finally:
        prepared.close()
    return driver.list_files(need_value(entry, f"{device.name} has no file of {model.name}"))
