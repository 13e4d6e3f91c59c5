"""The networks of the reference material, which lie in several folders."""

from __future__ import annotations

from pathlib import Path

FOLDERS = "models", "models-2"


def find_networks(shared: Path) -> dict[str, Path]:
    """The .tflite files of all folders, by their names without the suffix."""
    return {path.stem: path for folder in FOLDERS for path in sorted((shared / folder).glob("*.tflite"))}
