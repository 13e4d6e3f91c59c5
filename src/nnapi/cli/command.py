"""Commands: which of their options the user gave, and old spellings of options."""

import math
from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from typer.core import TyperCommand

from nnapi.cli.failure import warn
from nnapi.cli.old_spellings import replace_old_spellings
from nnapi.errors import Mistake

_given: ContextVar[dict[str, str]] = ContextVar("_given")
"""The options that the user gave to the command that runs, by parameter name: their spelling in help."""


class Command(TyperCommand):
    """A command. While it runs, :func:`refuse_options` knows the options that the user gave."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words, messages = replace_old_spellings(ctx.command_path.partition(" ")[2], args)
        for message in messages:
            warn(message)
        return super().parse_args(ctx, words)

    def invoke(self, ctx: Any) -> Any:
        given = {
            str(each.name): str(max(each.opts, key=len))
            for each in self.params
            if each.param_type_name == "option" and ctx.get_parameter_source(each.name).name == "COMMANDLINE"
        }
        for name, option in given.items():
            if isinstance(value := ctx.params.get(name), float) and not math.isfinite(value):
                raise Mistake(f"{option} is {value:g}, must be a finite number")
        token = _given.set(given)
        try:
            return super().invoke(ctx)
        finally:
            _given.reset(token)


def refuse_options(names: Iterable[str], reason: str) -> None:
    """Raise Mistake if the user gave one of these options, which would have no effect; ``reason`` follows its name.

    ``names`` are those of the command's parameters.
    """
    given = _given.get({})
    if found := [given[name] for name in names if name in given]:
        raise Mistake(f"{' and '.join(found)} {'have' if found[1:] else 'has'} no effect: {reason}")


def refuse_several(names: Sequence[str]) -> None:
    """Raise Mistake if the user gave more than one of these options."""
    given = _given.get({})
    if len(found := [given[name] for name in names if name in given]) > 1:
        raise Mistake(f"{' and '.join(found)} exclude each other")
