"""The notes in a file that tell other programs about a model: labels, ranges and descriptions."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FileNotes:
    """Named ``blocks`` and an ``archive`` for a .tflite file, or ``properties`` and a ``description`` for .onnx."""

    blocks: Mapping[str, bytes] = field(default_factory=dict)
    archive: bytes = b""
    properties: Mapping[str, str] = field(default_factory=dict)
    description: str = ""


NO_NOTES = FileNotes()
