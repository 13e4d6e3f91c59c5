"""A profile as a driver: who computes for it, what it says of itself, what the runtime makes of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import (
    BadDataError,
    Builder,
    Device,
    DeviceTypeCode,
    OperationCode,
    compile,
    device,
    devices,
    settings,
    tensor,
)
from nnapi.contract.driver import Capabilities, Driver, Performance, Prepared, PrepareOptions
from nnapi.drivers.faulty import Fault, Faulty
from nnapi.drivers.limited import Limited
from nnapi.drivers.profiles.driver import FirstOf, make_driver
from nnapi.profiles.profile import OperationLimits, Profile

REFERENCE = device("nnapi-reference").driver
ONLY_ADD = {OperationCode.ADD: OperationLimits()}
GIVEN = np.array([[-1, 2]], np.float32)


class Counted(Limited):
    """A driver that counts what it is asked to prepare."""

    prepared: list[str] = []  # noqa: RUF012  # one for all

    def prepare(self, model: Any, options: PrepareOptions) -> Prepared:
        self.prepared.append(self.name)
        return super().prepare(model, options)


def add_and_relu(rows: int = 1) -> Any:
    b = Builder("two")
    x = b.input(tensor("float32", (rows, 2)))
    b.output(b.relu(b.add(x, np.ones((1, 2), np.float32))))
    return b.finish()


def owners(among: Sequence[Device]) -> list[str]:
    """Which device each operation is given to, where it is large enough for a way to another to pay."""
    return [decision.chosen for decision in compile(add_and_relu(1_000_000), among).plan.decisions]


def test_it_says_what_the_profile_says() -> None:
    declared = Capabilities(Performance(0.1, 0.2))
    profile = Profile("phone", "3", DeviceTypeCode.DEVICE_GPU, 4, capabilities=declared)
    driver = make_driver(profile, [REFERENCE])
    assert isinstance(driver, Driver)
    assert driver.info[:4] == ("phone", "3", DeviceTypeCode.DEVICE_GPU, 4)
    assert driver.capabilities() is declared


def test_the_first_that_takes_all_computes() -> None:
    Counted.prepared.clear()
    able, unable = Counted(REFERENCE, "able"), Counted(REFERENCE, "unable", lambda *_: "no")
    last = Counted(REFERENCE, "last")
    for drivers, expected in (([unable, able, last], "able"), ([unable, last], "last"), ([last], "last")):
        profile = Profile("phone", others=OperationLimits())
        found = compile(add_and_relu(), Device(make_driver(profile, drivers))).run(GIVEN)[0]
        assert np.array_equal(found, [[0, 3]])
        assert Counted.prepared.pop() == expected
    assert FirstOf([able, last]).info.name == "last"


def test_a_plan_goes_by_what_it_declares_and_nothing_is_measured() -> None:
    for seconds, expected in ((0.1, "phone"), (10.0, "nnapi-reference")):
        profile = Profile("phone", capabilities=Capabilities(Performance(seconds, 1)), operations=ONLY_ADD)
        phone = Device(make_driver(profile, [REFERENCE]))
        assert not phone.is_measured
        with settings(tuning=True):
            assert owners([phone, device("nnapi-reference")]) == [expected, "nnapi-reference"]


def test_a_delay_is_that_of_a_slow_driver() -> None:
    driver = make_driver(Profile("phone", delay_seconds=0.5), [REFERENCE])
    assert isinstance(driver, Limited)
    assert isinstance(driver.driver, Faulty)
    assert (driver.driver.fault, driver.driver.seconds) == (Fault.SLOW, 0.5)


def test_a_profile_is_a_device_by_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "phone.toml"
    path.write_text('name = "phone"\n[operations]\nADD = {}\n[performance]\ndefault.exec_time = 0.1\n')
    found = device(str(path))
    assert (found.name, found.feature_level.level) == ("phone", 8)
    assert device(str(path)) is found
    assert owners([found, device("nnapi-reference")]) == ["phone", "nnapi-reference"]
    assert found not in devices()


@pytest.mark.parametrize(
    ("line", "violation"),
    [
        ('name = "nnapi-reference"', "name is 'nnapi-reference', which is a device of this machine"),
        ('name = "x"\ncomputed_by = "mars"', "computed_by: no device 'mars'; there are: "),
        ('name = "x"\ncomputed_by = "phone.toml"', "computed_by is 'phone.toml', must be a device of this machine"),
    ],
)
def test_a_profile_that_does_not_fit_this_machine_is_refused(tmp_path: Path, line: str, violation: str) -> None:
    path = tmp_path / "phone.toml"
    path.write_text(line)
    with pytest.raises(BadDataError) as caught:
        device(str(path))
    assert str(caught.value).startswith(f"{path}: {violation}")


def test_phones_know_neither_composites_nor_ranks_beyond_nnapi() -> None:
    """A composite is asked for by its parts."""
    phone = Device(make_driver(Profile("phone", operations=ONLY_ADD), [REFERENCE]))
    b = Builder()
    x = b.input(tensor("float32", (1, 2, 1, 3, 1)))
    b.output(b.add(b.softplus(b.reshape(x, np.array([2, 3], np.int32))), np.ones(1, np.float32)), b.add(x, x))
    model = b.finish()
    assert model.supported_operations([phone]) == [False, False, True, False]
