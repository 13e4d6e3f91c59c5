"""Classify scanned digits with Ray Data: each worker compiles the predictor at its first batch, and reuses it."""

import os
from pathlib import Path

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reads it when it is imported, and sends no reports

import numpy as np
import ray

import nnapi

DIGITS = Path(__file__).parents[1] / "digits"


def main() -> None:
    ray.init(address="local", num_cpus=2, _node_ip_address="127.0.0.1", include_dashboard=False, log_to_driver=False)
    scans = np.load(DIGITS / "digits_test.npz")
    images = scans["images"].reshape(-1, 8, 8, 1).astype(np.float32) / 16
    predict = nnapi.Predictor(DIGITS / "digits_float.tflite", columns=["image"])
    examples = zip(images, scans["labels"], strict=True)
    rows = ray.data.from_items(
        [{"image": image, "label": int(label)} for image, label in examples], override_num_blocks=4
    )
    batches = list(rows.map_batches(predict, batch_size=64).iter_batches(batch_size=None))
    (scores,) = set(batches[0]) - {"label"}
    right = np.concatenate([batch[scores].argmax(axis=-1) == batch["label"] for batch in batches]).mean()
    print(f"{right:.1%} of {len(images)} digits are right")
    assert right > 0.95


if __name__ == "__main__":
    main()
