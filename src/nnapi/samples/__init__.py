"""A small model that comes with nnapi, and an input for it, for a first run without a download.

The model is ``digits_quant.tflite`` of the repository's ``examples/digits``; the input is a scan of its test data, with
pixels 0 to 255.
"""

from pathlib import Path

MODELS = {"digits": (Path(__file__).parent / "digits.tflite", Path(__file__).parent / "scan.npy")}
"""The model and the input of each sample, by name."""


def find_sample(name: str) -> Path | None:
    """Return the model of a sample; None if a file has this name, or no sample has it."""
    return MODELS[name][0] if name in MODELS and not Path(name).is_file() else None


def find_input(model: Path) -> Path | None:
    """Return the input of a sample by its model; None for other models."""
    return next((scan for file, scan in MODELS.values() if file == model), None)
