"""A survey of devices whose limits are known."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from nnapi import Builder, Device, OperandCode, OperationCode, device, tensor
from nnapi.contract.driver import Capabilities, DriverDiedError, Performance
from nnapi.drivers.limited import Limited
from nnapi.drivers.profiles.driver import make_driver
from nnapi.errors import DeadObjectError
from nnapi.model.operation import REGISTRY, Operation
from nnapi.profiles.profile import ANYTHING, OperandLimits, OperationLimits, Profile
from nnapi.profiles.reading import read_profile
from nnapi.testing.device_survey import Answer, ask, find_limits, survey_device

REFERENCE = device("nnapi-reference").driver
BYTES = (OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED)


@pytest.mark.parametrize(
    ("code", "name", "limits"),
    [
        (OperationCode.CONV_2D, "input", OperandLimits(BYTES)),
        (OperationCode.RELU, "input", OperandLimits(ranks=(2, 4))),
        (OperationCode.RELU, "input", OperandLimits((OperandCode.TENSOR_FLOAT32,), ranks=(2, 4))),
        (OperationCode.TRANSPOSE, "perm", OperandLimits(constant=True)),
        (OperationCode.CONV_2D, "layout", OperandLimits(values=(False,))),
        (OperationCode.AVERAGE_POOL_2D, "layout", OperandLimits(values=(True,))),
        (OperationCode.RELU, "input", OperandLimits(largest_dimension=4)),
        (OperationCode.CONV_2D, "filter", OperandLimits(constant=True)),
        (OperationCode.IF, "", ANYTHING),
    ],
)
def test_limits_are_found(code: OperationCode, name: str, limits: OperandLimits) -> None:
    operands = {name: limits} if name else {}
    arithmetic = {each: OperationLimits() for each in (OperationCode.ADD, OperationCode.SUB, OperationCode.MUL)}
    profile = Profile("phone", operations={**arithmetic, code: OperationLimits(operands=operands)})
    found = find_limits(ask(Device(make_driver(profile, [REFERENCE])), REGISTRY[code]))
    assert found is not None
    assert found.operands == operands


def test_a_flag_that_a_call_omits_is_false() -> None:
    limits = OperationLimits(operands={"layout": OperandLimits(values=(True,))})
    profile = Profile("phone", operations={OperationCode.CONV_2D: limits})
    builder = Builder()
    x = builder.input(tensor("float32", [1, 4, 4, 2]), name="x")
    builder.output(builder.conv_2d(x, np.ones((3, 1, 1, 2), np.float32), np.zeros(3, np.float32), 1, 1, 1, 0))
    model = builder.finish()
    (reason,) = [profile.find_refusal(model, call) for call in model.operations]
    assert reason is not None
    assert reason.endswith("phone takes layout as true only")


def test_what_is_never_taken_is_none_of_its_operations() -> None:
    profile = Profile("phone", operations={OperationCode.ABS: OperationLimits()})
    phone = Device(make_driver(profile, [REFERENCE]))
    asked = [REGISTRY[OperationCode.ABS], REGISTRY[OperationCode.NEG]]
    names: list[str] = []
    found = survey_device(phone, asked, 8, progress=names.append)
    assert found.operations == {OperationCode.ABS: OperationLimits()}
    assert names == ["ABS", "NEG"]


def test_a_level_is_no_limit_of_types() -> None:
    """RELU is asked about with TENSOR_QUANT8_ASYMM_SIGNED, of level 4, which a device of level 3 does not know."""
    old = Device(Limited(REFERENCE, "old", feature_level=3))
    answers = ask(old, REGISTRY[OperationCode.RELU])
    assert answers
    assert all(answer.taken for answer in answers)
    assert find_limits(answers) == OperationLimits()


def test_what_a_device_says_of_itself_is_kept() -> None:
    declared = Capabilities(Performance(0.5, 2.0))
    phone = Device(Limited(REFERENCE, "phone", declared=declared, feature_level=4, version="7"))
    found = survey_device(phone, [])
    assert (found.name, found.version, found.feature_level) == ("phone-profile", "7", 4)
    assert found.capabilities == declared
    assert found.source == "what phone 7 answered when it was asked"


def test_a_survey_goes_on_where_it_ended(tmp_path: Path) -> None:
    """Here by an error; the operations asked before are not asked again."""
    profile = Profile("phone", operations={code: OperationLimits() for code in (OperationCode.ABS, OperationCode.RELU)})
    phone = Device(make_driver(profile, [REFERENCE]))
    operations = [REGISTRY[code] for code in (OperationCode.ABS, OperationCode.NEG, OperationCode.RELU)]
    file, asked = tmp_path / "phone.toml", list[str]()

    def lose(name: str) -> None:
        if name == "RELU":
            raise DeadObjectError("the connection was lost")

    with pytest.raises(DeadObjectError):
        survey_device(phone, operations, 8, lose, file)
    assert not file.exists()
    part = (tmp_path / "phone.toml.part").read_text()
    assert part.startswith("# refused: NEG")

    def note(device: Device, operation: Operation, draws: int) -> list[Answer]:
        asked.append(operation.name)
        return ask(device, operation, draws)

    with patch("nnapi.testing.device_survey.ask", note):
        survey_device(phone, operations, 8, file=file)
    assert asked == ["RELU"]
    assert read_profile(file) == survey_device(phone, operations, 8)
    assert not (tmp_path / "phone.toml.part").exists()


def test_what_ends_the_driver_is_refused() -> None:
    death = DriverDiedError("its process was ended by SIGSEGV")
    death.by_itself = True
    phone = device("nnapi-reference")
    with patch("nnapi.testing.device_survey.need_verdicts", side_effect=death):
        assert find_limits(ask(phone, REGISTRY[OperationCode.ABS], 3)) is None
    death.by_itself = False
    with patch("nnapi.testing.device_survey.need_verdicts", side_effect=death), pytest.raises(DriverDiedError):
        ask(phone, REGISTRY[OperationCode.ABS], 3)


def test_the_profile_of_a_substitute_has_no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = Capabilities(Performance(0.1, 0.1))
    named = Device(make_driver(Profile("phone", capabilities=declared), [REFERENCE]))
    assert survey_device(named, []).capabilities == declared
    monkeypatch.setattr(Device, "substitute", "only pretended")
    assert survey_device(named, []).capabilities == Capabilities()
