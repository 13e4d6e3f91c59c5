"""Profiles as files: what they say, and what is wrong with those that say it wrongly."""

from pathlib import Path

import pytest

from nnapi import BadDataError, DeviceTypeCode, OperandCode, OperationCode
from nnapi.contract.driver import Performance
from nnapi.profiles.profile import OperandLimits, Profile
from nnapi.profiles.reading import find_profile, list_shipped, read_profile

WHOLE = """
name = "phone"
version = "2.1"
type = "GPU"
feature_level = 5
source = "its maker"
computed_by = "xnnpack-cpu"
delay_seconds = 0.25

[performance]
default = { exec_time = 2, power_usage = 0.5 }
TENSOR_FLOAT32 = { exec_time = 0.5 }

[transfer]
launch_seconds = 1e-3

[operations]
RELU = {}

[operations.CONV_2D]
types = ["TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"]
ranks = [4]
largest_dimension = 512
operands.filter = { constant = true }

[other_operations]
types = ["TENSOR_INT32"]
"""


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_that_a_file_can_say(tmp_path: Path) -> None:
    found = read_profile(write(tmp_path / "phone.toml", WHOLE))
    assert (found.name, found.version, found.type) == ("phone", "2.1", DeviceTypeCode.DEVICE_GPU)
    assert (found.feature_level, found.source, found.computed_by) == (5, "its maker", "xnnpack-cpu")
    assert found.delay_seconds == 0.25
    assert found.capabilities.default == found.capabilities.relaxed == Performance(2, 0.5)
    assert found.capabilities.by_type == {OperandCode.TENSOR_FLOAT32: Performance(0.5, 0.5)}
    assert found.capabilities.launch_seconds == 1e-3
    assert set(found.operations) == {OperationCode.RELU, OperationCode.CONV_2D}
    conv = found.operations[OperationCode.CONV_2D]
    assert conv.first.types == (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM)
    assert (conv.first.ranks, conv.first.largest_dimension, conv.first.constant) == ((4,), 512, False)
    assert conv.operands["filter"].constant
    assert found.others is not None
    assert found.others.first.types == (OperandCode.TENSOR_INT32,)


def test_a_name_is_enough(tmp_path: Path) -> None:
    assert read_profile(write(tmp_path / "phone.toml", 'name = "phone"')) == Profile("phone")


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("", "name is missing"),
        ("name = 3", "name must be a string, is 3"),
        ('name = ""', "name must be a line that is not empty, is ''"),
        ('name = "a\\nb"', r"name must be a line that is not empty, is 'a\nb'"),
        ('name = "x"\ntype = "TPU"', "type must be one of OTHER, CPU, GPU, ACCELERATOR, is 'TPU'"),
        ('name = "x"\nfeature_level = 9', "feature_level must be 1 to 8, is 9"),
        ('name = "x"\nfeature_level = true', "feature_level must be a whole number, is True"),
        ('name = "x"\ndelay_seconds = -1', "delay_seconds must be finite and not negative, is -1"),
        ('name = "x"\ndelay_seconds = 1e300', "delay_seconds must be at most 3600, is 1e+300"),
        (
            'name = "x"\nsped = 1',
            "sped is not known; known are: computed_by, delay_seconds, feature_level, name, operations, other_op",
        ),
        (
            'name = "x"\n[performance]\nTENSOR_FLOAT = {}',
            "performance.TENSOR_FLOAT is not known; known are: BOOL, FLOAT16, FLOAT32, IF, INT32",
        ),
        ('name = "x"\nperformance.IF.exec_time = "fast"', "performance.IF.exec_time must be a number, is 'fast'"),
        ('name = "x"\nperformance.IF.exec = 1', "performance.IF.exec is not known; known are: exec_time, power_usage"),
        ('name = "x"\ntransfer = 1', "transfer must be a table, is 1"),
        ('name = "x"\n[operations]\nCONV2D = {}', "operations.CONV2D is not an operation of NNAPI"),
        (
            'name = "x"\noperations.ADD.types = ["FLOAT"]',
            "operations.ADD.types names 'FLOAT', which is not an operand type",
        ),
        ('name = "x"\noperations.ADD.types = []', "operations.ADD.types must be a list that is not empty, is []"),
        ('name = "x"\noperations.ADD.ranks = [4.0]', "operations.ADD.ranks: each must be a whole number, is 4.0"),
        ('name = "x"\noperations.ADD.ranks = [4, -1]', "operations.ADD.ranks must not be negative, has -1"),
        ('name = "x"\noperations.ADD.rank = 4', "operations.ADD.rank is not known"),
        (
            'name = "x"\noperations.ADD.largest_dimension = 0',
            "operations.ADD.largest_dimension must be at least 1, is 0",
        ),
        (
            'name = "x"\noperations.ADD.operands.c = {}',
            "operations.ADD.operands.c is not an operand of ADD, which has activation, lhs",
        ),
        ('name = "x"\nother_operations.operands = {}', "other_operations.operands is not known"),
        ('name = "x', ""),
    ],
)
def test_one_error_names_file_key_and_what_was_wrong(tmp_path: Path, text: str, violation: str) -> None:
    path = write(tmp_path / "bad.toml", text)
    with pytest.raises(BadDataError) as caught:
        read_profile(path)
    assert str(caught.value).startswith(f"{path}: {violation}")


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(BadDataError, match=r"bad\.toml: 'utf-8' codec"):
        read_profile(path)


@pytest.mark.parametrize("name", list_shipped())
def test_those_that_come_with_us_name_their_source(name: str) -> None:
    found = read_profile(find_profile(name))
    assert found.source
    assert found.operations or found.others


def test_a_file_stands_before_one_of_the_same_name_that_comes_with_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_profile(find_profile("sample_minimal.toml")).name == "nnapi-sample_minimal"
    write(tmp_path / "sample_minimal.toml", 'name = "mine"')
    assert read_profile(find_profile("sample_minimal.toml")).name == "mine"
    with pytest.raises(BadDataError, match=r"none\.toml: no such profile; those that come with nnapi are arm_nn\.toml"):
        find_profile("none.toml")


@pytest.mark.parametrize(
    "text",
    [
        "feature_level = 1",
        "feature_level = 8",
        "delay_seconds = 3600",
        "delay_seconds = 0",
        'type = "CPU"',
        "operations.ADD.ranks = [0, 4]",
        "operations.ADD.largest_dimension = 1",
        "operations.CONV_2D.operands.layout.values = [false]",
    ],
)
def test_values_at_their_limits(tmp_path: Path, text: str) -> None:
    assert read_profile(write(tmp_path / "good.toml", f'name = "x"\n{text}')).name == "x"


@pytest.mark.parametrize(
    ("text", "violation"),
    [
        ("feature_level = 0", "feature_level must be 1 to 8, is 0"),
        ("delay_seconds = 3601", "delay_seconds must be at most 3600, is 3601"),
        ("delay_seconds = inf", "delay_seconds must be finite and not negative, is inf"),
        ("delay_seconds = nan", "delay_seconds must be finite and not negative, is nan"),
        ("delay_seconds = true", "delay_seconds must be a number, is True"),
        ("operations.ADD.constant = 1", "operations.ADD.constant must be true or false, is 1"),
        ("operations.ADD.ranks = 4", "operations.ADD.ranks must be a list that is not empty, is 4"),
        ("operations.ADD.ranks = [true]", "operations.ADD.ranks: each must be a whole number, is True"),
        ("operations.ADD.values = [0]", "operations.ADD.values: each must be true or false, is 0"),
        ("operations.ADD.largest_dimension = true", "operations.ADD.largest_dimension must be a whole number, is True"),
        ("operations.ADD.operands.lhs.rank = 4", "operations.ADD.operands.lhs.rank is not known"),
        ("transfer.seconds = 1", "transfer.seconds is not known; known are: launch_seconds, seconds_per_byte"),
        ("other_operations.rank = 1", "other_operations.rank is not known"),
    ],
)
def test_values_beyond_their_limits(tmp_path: Path, text: str, violation: str) -> None:
    path = write(tmp_path / "bad.toml", f'name = "x"\n{text}')
    with pytest.raises(BadDataError) as caught:
        read_profile(path)
    assert str(caught.value).startswith(f"{path}: {violation}")


def test_limits_of_each_operand(tmp_path: Path) -> None:
    text = 'name = "x"\n[operations.CONV_2D.operands]\nlayout = { values = [true] }\nbias = { ranks = [1, 2] }\n'
    found = read_profile(write(tmp_path / "good.toml", text)).operations[OperationCode.CONV_2D]
    assert found.first == OperandLimits()
    assert found.operands == {"layout": OperandLimits(values=(True,)), "bias": OperandLimits(ranks=(1, 2))}


def test_other_kinds_of_performance_are_the_default_s(tmp_path: Path) -> None:
    text = 'name = "x"\ntransfer.seconds_per_byte = 5\n[performance]\nIF.exec_time = 3\nrelaxed.power_usage = 4\n'
    found = read_profile(write(tmp_path / "good.toml", text)).capabilities
    assert (found.default, found.if_, found.relaxed, found.while_) == ((1, 1), (3, 1), (1, 4), (1, 1))
    assert (found.by_type, found.launch_seconds, found.seconds_per_byte) == ({}, 2e-6, 5)


@pytest.mark.parametrize("key", ["name", "version"])
def test_names_are_short(tmp_path: Path, key: str) -> None:
    text = {200: WHOLE.replace(f'{key} = "', f'{key} = "' + "x" * (200 - (5 if key == "name" else 3)))}
    assert len(getattr(read_profile(write(tmp_path / "phone.toml", text[200])), key)) == 200
    longer = text[200].replace(f'{key} = "', f'{key} = "x')
    with pytest.raises(BadDataError, match=f"{key} has 201 characters, at most 200 are possible"):
        read_profile(write(tmp_path / "phone.toml", longer))


def test_a_fault_is_described_in_a_short_message(tmp_path: Path) -> None:
    lines = "\n".join([f'"{"t" * 4000}",'] * 60)
    with pytest.raises(BadDataError) as caught:
        read_profile(write(tmp_path / "phone.toml", WHOLE.replace("ranks = [4]", f"ranks = [\n{lines}\n]")))
    assert len(str(caught.value)) < 1300
