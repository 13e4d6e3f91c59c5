"""The classes that replace LiteRT's in an unchanged program follow the options of its command line."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

import pytest

pytest.importorskip("ai_edge_litert.compiled_model", reason="ai-edge-litert is not installed")
from nnapi import litert  # LiteRT may be missing
from nnapi.litert import drop_in
from tests.litert.model_cases import two_steps
from tests.litert.test_litert_interpreter import with_atan2

pytestmark = pytest.mark.engine


def find_class(name: str, *words: str) -> Any:
    """Return the replaced class of a name for the words of a command line."""
    parser = ArgumentParser()
    drop_in.add_options(parser)
    module = "ai_edge_litert.compiled_model" if name == "CompiledModel" else "ai_edge_litert.interpreter"
    return drop_in.find_names(module, **vars(parser.parse_args(words)))[name]


def open_model(name: str, content: bytes, *words: str, **named: Any) -> Any:
    if name == "CompiledModel":
        return find_class(name, *words).from_buffer(content, **named)
    interpreter = find_class(name, *words)(model_content=content, **named)
    interpreter.allocate_tensors()
    return interpreter


@pytest.mark.parametrize("name", ["Interpreter", "CompiledModel"])
def test_a_class_is_the_same_for_the_same_options(name: str) -> None:
    made = find_class(name)
    assert made is find_class(name)
    assert made is not find_class(name, "--explain")
    assert issubclass(made, getattr(litert, name))


def test_other_names_of_the_module_are_this_packages() -> None:
    names = drop_in.find_names("tflite_runtime.interpreter", explain=False, devices=None, no_fallback=False)
    assert set(names) == set(litert.__all__)
    assert names["OpResolverType"] is litert.OpResolverType
    assert set(drop_in.find_names("ai_edge_litert.compiled_model", explain=False)) == {"CompiledModel"}


@pytest.mark.parametrize("name", ["Interpreter", "CompiledModel"])
def test_a_plan_is_reported_on_demand(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    open_model(name, two_steps())
    assert capsys.readouterr() == ("", "")
    open_model(name, two_steps(), "--explain")
    out, err = capsys.readouterr()
    assert out == ""
    assert "nnapi-reference" in err


@pytest.mark.parametrize("name", ["Interpreter", "CompiledModel"])
def test_devices_are_those_of_the_option_unless_the_program_names_some(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for devices in ("absent", "nnapi-reference,absent"):
        with pytest.raises(RuntimeError, match="no device 'absent'; there are: .*nnapi-reference"):
            open_model(name, two_steps(), "--devices", devices, "--no-fallback")
    open_model(name, two_steps(), "--devices", "absent", "--explain", devices=["nnapi-reference"])
    assert "nnapi-reference" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["Interpreter", "CompiledModel"])
def test_names_in_a_list_may_have_spaces_and_duplicates(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    devices = "nnapi-reference, nnapi-reference ,"
    open_model(name, two_steps(), "--devices", devices, "--no-fallback", "--explain")
    assert "nnapi-reference" in capsys.readouterr().err


def test_what_nnapi_cannot_express_is_refused_without_fallback() -> None:
    open_model("Interpreter", with_atan2())
    with pytest.raises((RuntimeError, ValueError), match="ATAN2"):
        open_model("Interpreter", with_atan2(), "--no-fallback")
