"""The options of ``nnapi run``."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from nnapi.cli.cluster_runs import On
from nnapi.cli.command import refuse_options
from nnapi.cli.options import (
    AsPrecision,
    AsWeights,
    InputShapes,
    Int16AsFloat,
    ModelFile,
    Names,
    ProfileFile,
    Seed,
    Threads,
    device_option,
    need_share,
)
from nnapi.errors import Mistake
from nnapi.vision.pictures import Pixels
from nnapi.vision.task import Task

PixelRange = Annotated[
    str | None,
    typer.Option("--range", metavar="LOW,HIGH", help="Float values for black and white: 0,1 or -1,1 or 0,255."),
]
PixelMean = Annotated[
    str | None,
    typer.Option(
        "--mean", help="Subtract this from pixels 0 to 255; one number, or one per channel: 123.7,116.3,103.5."
    ),
]
PixelStd = Annotated[
    str | None,
    typer.Option("--std", help="Divide the pixels by this after --mean is subtracted; one number, or one per channel."),
]


@dataclass
class RunOptions:
    model: ModelFile
    inputs: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="INPUT",
            help="Pictures, .npy or .wav files, or folders of them: one run for each file, or one file for each "
            "of several model inputs. Random values by default.",
            show_default=False,
        ),
    ] = None
    device: Annotated[Names, device_option("Run on this device only (may be repeated).")] = None
    threads: Threads = None
    profile: ProfileFile = None
    labels: Annotated[Path | None, typer.Option(help="Names of the classes, one per line.")] = None
    top: Annotated[int, typer.Option(min=1, help="How many classes to show.")] = 5
    score: Annotated[float | None, typer.Option(help="Minimum score, 0 to 1, of boxes, key points and masks.")] = None
    range: PixelRange = None
    mean: PixelMean = None
    std: PixelStd = None
    seed: Seed = 0
    int16_as_float: Int16AsFloat = False
    weights: AsWeights = None
    precision: AsPrecision = None
    shapes: InputShapes = None
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, including boxes, masks and key points.")] = False
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help=(
                "Write each output, as the model stores it, to a .npy file in this folder, and the picture with "
                "the drawn results."
            ),
        ),
    ] = None
    task: Annotated[
        Task | None, typer.Option("--as", help="The task of the model, if its outputs do not determine it.")
    ] = None
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the result into this picture: boxes, masks, key points, classes."),
    ] = None
    on: On = None
    jsonl: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Append a line of JSON for each run to this file, and skip runs that succeeded before."
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.on and self.profile:
            raise Mistake(
                "--profile and --on exclude each other: --profile simulates a device on this machine, --on uses "
                "other machines"
            )
        need_share(self.score, "--score")
        if self.jsonl:
            refuse_options(["as_json"], "--jsonl writes the results to a file")
        if self.inputs:
            refuse_options(["seed"], "the inputs are files")

    def pixels(self) -> Pixels:
        pixels = read_pixels(self.range, self.mean, self.std)
        if not self.inputs:
            refuse_options(["range", "mean", "std"], "there are no pictures")
        return pixels


def read_pixels(range: str | None, mean: str | None, std: str | None) -> Pixels:
    if range and (mean or std):
        raise Mistake("--range and --mean/--std exclude each other: give one of them")
    if range:
        limits = _numbers("--range", range) or ()
        if len(limits) != 2 or limits[0] == limits[1]:
            raise typer.BadParameter(f"{range!r} must be two different numbers, such as -1,1", param_hint="--range")
        return Pixels.of_range(*limits)
    found = Pixels(_numbers("--mean", mean), _numbers("--std", std))
    if found.std and 0 in found.std:
        raise typer.BadParameter("no value may be 0", param_hint="--std")
    return found


def with_options(command: Callable[[RunOptions], None]) -> Callable[..., None]:
    """Make a command of a function; its options are the fields of the function's argument."""

    def call(**values: Any) -> None:
        command(RunOptions(**values))

    call.__doc__, call.__name__ = command.__doc__, command.__name__
    call.__annotations__ = get_type_hints(RunOptions, include_extras=True)
    call.__signature__ = inspect.signature(RunOptions, eval_str=True)  # type: ignore[attr-defined]  # Typer reads the signature
    return call


def _numbers(option: str, text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        found = tuple(float(number) for number in text.split(","))
        if all(map(math.isfinite, found)):
            return found
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} must be one number, or several separated by commas", param_hint=option)
