"""The keys of the JSON that commands print."""

from typing import NamedTuple


class Form(NamedTuple):
    """The command that prints a form, its keys besides ``format`` and ``version``, and an exception."""

    command: str
    keys: tuple[str, ...]
    exception: str = ""


FORMS = {
    "devices": Form("devices", ("devices", "unavailable")),
    "costs": Form("devices --costs", ("devices",)),
    "golden": Form("golden", ("model", "inputs", "outputs", "tensors", "operations")),
    "info": Form(
        "info",
        (
            "model",
            "bytes",
            "constant_bytes",
            "inputs",
            "outputs",
            "operations",
            "operands",
            "notes",
            "feature_level",
            "forced_by",
            "level_without",
        ),
        "different for recordings (see below)",
    ),
    "explain": Form(
        "explain",
        (
            "model",
            "summary",
            "predicted_seconds",
            "measured_seconds",
            "threads",
            "variant",
            "alternatives",
            "steps",
            "operations",
            "notes",
            "edges",
            "nested",
        ),
    ),
    "check": Form("check run", ("device", "corpus", "variants", "failures", "results")),
    "check-webnn": Form("check run FILE.json", ("device", "corpus", "operators", "failures", "results")),
    "check-random": Form("check run --random", ("devices",)),
    "check-diff": Form("check diff", ("worse", "better", "others", "compared", "removed", "added")),
    "compare": Form("compare", ("model", "devices", "first", "failure", "file", "operations")),
    "compare-recording": Form("compare --against RECORDING.npz", ("model", "recording", "device", "runs")),
    "compare-quantized": Form(
        "compare --against QUANTIZED", ("model", "quantized", "operations", "outputs", "agreeing", "samples")
    ),
    "quantize": Form("quantize", ("model", "file", "scheme", "inputs", "bytes_before", "bytes", "loss")),
    "bench": Form("bench", ("started", "machine", "settings", "absent", "models", "is_interrupted")),
    "bench-diff": Form("bench diff", ("changes", "notes", "regressions")),
    "migrate": Form("migrate", ("models", "unavailable")),
    "run": Form("run", ("model", "notes", "devices", "machine", "runs"), "`similarities` for embeddings"),
    "trace": Form("trace parse", ("runs",)),
    "tune": Form("tune", ("machine", "models")),
    "cache": Form("cache list", ("entries",)),
    "cache-prune": Form("cache prune", ("removed", "left")),
}
"""The forms by name: the key ``format`` is ``nnapi-NAME``."""
