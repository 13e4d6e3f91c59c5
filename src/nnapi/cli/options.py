"""Arguments and options that several commands share."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import typer

import nnapi
from nnapi.cli.command import refuse_options
from nnapi.cli.completion import complete_devices, complete_models, complete_profiles
from nnapi.errors import BadDataError, Mistake
from nnapi.model.precision import PrecisionName
from nnapi.runtime.device import REFERENCE
from nnapi.runtime.thread_counts import MOST_THREADS
from nnapi.samples import find_sample

PROFILE = ".toml"
PAGES = ".html", ".htm"
Names: TypeAlias = list[str] | None
SAMPLE = " `digits` is a small model that comes with nnapi."


def _find_file(model: Path) -> Path:
    """Return the model's file, also for the name of a sample."""
    return find_sample(str(model)) or model


def _find_files(models: list[Path]) -> list[Path]:
    return list(map(_find_file, models))


ModelFile = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help=f"A model file.{SAMPLE}",
        show_default=False,
        callback=_find_file,
        autocompletion=complete_models,
    ),
]
ModelFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="MODEL...",
        help=f"Model files.{SAMPLE}",
        show_default=False,
        callback=_find_files,
        autocompletion=complete_models,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Page = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write a page with the results.")]
JsonFile = Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the JSON to this file.")]
THREADS = typer.Option(
    "--threads", min=1, max=MOST_THREADS, help="Threads that a run may use; chosen automatically by default."
)
Threads = Annotated[int | None, THREADS]
Seed = Annotated[int, typer.Option(min=0, help="Seed of random values.")]
ProfileFile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="FILE",
        help=(
            "Simulate the device that this profile describes (a file, or the name of a shipped profile), "
            "beside the devices of --device, by default the CPU."
        ),
        autocompletion=complete_profiles,
    ),
]
Int16AsFloat = Annotated[
    bool, typer.Option("--int16-as-float", help="Import 16-bit quantized tensors of a .tflite file as float tensors.")
]
Weights = Literal["dynamic-range"]
AsWeights = Annotated[
    Weights | None,
    typer.Option(
        "--weights",
        help="Let devices compute float operations of a .tflite file with their 8- and 4-bit weights (dynamic "
        "range): inputs are rounded to 8 bits, which is faster and less exact.",
    ),
]
AsPrecision = Annotated[
    PrecisionName | None,
    typer.Option(
        "--precision",
        help=(
            "The least precise arithmetic permitted for float32; used where the device and the processor support it."
        ),
    ),
]
InputShapes = Annotated[
    list[str] | None,
    typer.Option(
        "--shape",
        metavar="NAME=1,3,224,224",
        help="Dimensions of an input whose dimensions the file leaves unspecified; repeat it for more inputs.",
    ),
]


def device_option(help: str) -> Any:
    return typer.Option("--device", "-d", help=help, autocompletion=complete_devices)


def need_page(file: Path | None, option: str = "--html") -> None:
    """Raise Mistake for a page whose name is not that of a page."""
    if file is not None and file.suffix.lower() not in PAGES:
        raise Mistake(f"{option} is {file}, must end in {' or '.join(PAGES)}")


def need_share(value: float | None, option: str) -> None:
    if value is not None and not 0 <= value <= 1:
        raise Mistake(f"{option} is {value:g}, must be from 0 to 1")


def split_names(text: str, kind: str, known: Collection[str]) -> list[str]:
    """Split a list with commas, without duplicates; Mistake for unknown names."""
    names = list(dict.fromkeys(filter(None, map(str.strip, text.split(",")))))
    if unknown := [name for name in names if name not in known]:
        raise Mistake(f"no {kind} {', '.join(unknown)}; there are: {', '.join(known)}")
    return names


def add_profile(profile: str | None, devices: Sequence[str] | None) -> list[str] | None:
    """Return the devices to choose from: the profile's device, and the given devices or by default the CPU."""
    if profile is None:
        return None if devices is None else list(devices)
    from nnapi.profiles.reading import find_profile  # on demand: it needs the drivers' contract

    name = profile if profile.endswith(PROFILE) else profile + PROFILE
    try:
        find_profile(name)
    except BadDataError as error:
        raise Mistake(str(error)) from None
    return [name, *(devices or [REFERENCE])]


def load(
    file: Path, int16_as_float: bool = False, shapes: Sequence[str] | None = None, weights: Weights | None = None
) -> nnapi.Model:
    if file.suffix == ".onnx":
        refuse_options(["int16_as_float", "weights"], f"{file.name} is not a .tflite file")
    return nnapi.load(file, dict(map(_read_shape, shapes or ())), int16_as_float=int16_as_float, weights=weights)


def _read_shape(text: str) -> tuple[str, list[int]]:
    name, _, sizes = text.rpartition("=")
    try:
        if not name:
            raise ValueError("no name is given")
        return name, [int(size) for size in sizes.split(",")]
    except ValueError:
        raise Mistake(f"--shape is {text}, must be a name and dimensions, as in image=1,3,224,224") from None
