"""``nnapi check --random`` as a user calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnapi.cli import app


def call(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["check", *map(str, arguments)])


def test_a_session_says_its_seed_and_what_came_of_it(tmp_path: Path) -> None:
    chosen = ("--device", "nnapi-reference", "--seed", 3, "--seconds", 3, "-v", "--filter", "RELU")
    result = call("--random", *chosen, "--failures", tmp_path / "failures", "--output", tmp_path / "out.json")
    assert result.exit_code == 0, result.output
    assert "nnapi-reference, seed 3:" in result.stdout
    assert "0 failed" in result.stdout
    assert "RELU" in result.stdout
    (said,) = json.loads((tmp_path / "out.json").read_text())["devices"]
    assert said["seed"] == 3
    assert said["agreed"] == said["operations"]["RELU"]["agreed"] > 0
    assert not (tmp_path / "failures").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--random", "corpus"), "--random generates its models: omit corpus"),
        (("--random", "--values", "odd"), "there is no kind of values odd; there are: ordinary, non-finite"),
        (("--random", "--filter", "conv"), "there is no operation conv"),
    ],
)
def test_mistakes(arguments: tuple[str, ...], message: str) -> None:
    result = call(*arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
