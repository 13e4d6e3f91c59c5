"""The command ``nnapi``: one file per subcommand, imported when the subcommand is called."""

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from nnapi.cli.command import Command
from nnapi.cli.connected_phones import use_phones
from nnapi.cli.failure import Nnapi, prepare_streams
from nnapi.cli.interruption import handle_signals
from nnapi.errors import Mistake
from nnapi.garbage_collection import pause_collecting

COMMANDS = {
    "check": "Run conformance examples; show results as a page; compare two runs.",
    "compare": "Find the first operation whose result differs between two devices on equal inputs.",
    "devices": "List the devices, and the drivers that cannot be used, with reasons.",
    "explain": "Show the plan for a model: its partitions, and the device, costs and reasons of each operation.",
    "export": "Write a model as a .tflite or .onnx file.",
    "golden": "Write each tensor of a run, and the integers that compute it, for makers of kernels and hardware.",
    "info": "Show a model's inputs, outputs and operations, its feature level and the reasons for this level.",
    "lib": "Print the path of libneuralnetworks.so, the C library for programs that call NNAPI.",
    "migrate": (
        "Write models as .tflite, compare them with the reference, and list the accelerators that support them."
    ),
    "phone": "Put the agent on a phone, and list the phone's NNAPI devices.",
    "quantize": "Quantize a float model with data, and show what each operation loses.",
    "run": "Run a model on pictures, arrays, recordings or random values, and show the results.",
    "serve": "Serve devices through a socket until this command ends; applications find the socket by NNAPI_SERVICE.",
    "strace": "Run a program, and show each of its calls to libneuralnetworks.so with arguments, result and time.",
    "tune": "Compare the plans of models now, and keep the fastest for later compilations.",
    "view": "Show the plan of a model in the browser: its graph, colored by device, with costs and reasons.",
    "bench": "Measure models with nnapi and other engines; compare two runs.",
    "cache": "List and prune the caches on disk.",
    "trace": "Record a trace of a model's runs (`nnapi trace MODEL -o FILE`), or read one (`nnapi trace parse FILE`).",
}
"""The subcommands, each in a module of its name, and the beginning of their help."""
SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "rich_markup_mode": "markdown",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Commands(Nnapi):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        if name != "strace":  # whose arguments are another program's
            need_no_address(rest)
        return name, load_command(str(name)), rest


def need_no_address(words: Sequence[str]) -> None:
    """Raise Mistake for an argument that is the address of a file elsewhere: as a path, it would lose a slash."""
    for word in words:
        if re.match(r"(https?|ftp|s3|gs|file)://", word.partition("=")[2] if word.startswith("--") else word):
            raise Mistake(f"{word} is an address; nnapi reads files of this machine only, so download it first")


def load_command(name: str) -> Any:
    """Return the subcommand in a module: its ``app`` if it has subcommands itself, else its function."""
    with pause_collecting():
        module = import_module(f"{__name__}.{name}")
        loaded = typer.Typer(**SETTINGS | {"no_args_is_help": False})
        if not hasattr(module, "app"):
            loaded.command(name, cls=Command)(getattr(module, name))
            return typer.main.get_command(loaded)
        loaded.add_typer(module.app, name=name)
        group: Any = typer.main.get_command(loaded)
        return group.commands[name]


app = typer.Typer(
    cls=Commands,
    help="The Android Neural Networks API on this machine: devices, models, runs.",
    **SETTINGS | {"add_completion": True},
)
for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(lambda: None)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"nnapi {version('nnapi')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    use_phones()


def main() -> None:
    handle_signals()
    prepare_streams()
    app(prog_name="nnapi")
