"""All commands with their options, for tests."""

from collections.abc import Iterator
from typing import Any

from nnapi.cli import COMMANDS, load_command


def list_commands() -> dict[str, Any]:
    """Return all commands by name, such as ``bench diff``."""
    return dict(sorted(each for name in COMMANDS for each in _list(name, load_command(name))))


def _list(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "commands"):
        yield name, command
        return
    for word, inner in command.commands.items():
        yield from _list(f"{name} {word}", inner)


def list_options() -> list[tuple[str, Any]]:
    """Return each option with its command."""
    return [
        (name, option)
        for name, command in list_commands().items()
        for option in command.params
        if option.param_type_name == "option" and option.name != "help"
    ]
