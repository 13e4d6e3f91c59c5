"""Classify scanned digits in processes of joblib: each process unpickles the predictor, and compiles it once."""

from pathlib import Path

import joblib
import numpy as np

import nnapi

DIGITS = Path(__file__).parents[1] / "digits"


def main() -> None:
    scans = np.load(DIGITS / "digits_test.npz")
    images = scans["images"].reshape(-1, 1, 8, 8, 1).astype(np.float32) / 16
    predict = nnapi.Predictor(DIGITS / "digits_float.tflite")
    outputs = joblib.Parallel(n_jobs=2)(joblib.delayed(predict)(image) for image in images)
    right = np.mean([scores.argmax() for (scores,) in outputs] == scans["labels"])
    print(f"{right:.1%} of {len(images)} digits are right")
    assert right > 0.95


if __name__ == "__main__":
    main()
