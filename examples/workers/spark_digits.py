"""Classify scanned digits with Spark: `Predictor.run_many` turns a partition's rows into an iterator of results."""

import os
import sys
from pathlib import Path

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run the same Python

import numpy as np
from pyspark.sql import SparkSession

import nnapi

DIGITS = Path(__file__).parents[1] / "digits"


def main() -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    scans = np.load(DIGITS / "digits_test.npz")
    images = scans["images"].reshape(-1, 1, 8, 8, 1).astype(np.float32) / 16
    predict = nnapi.Predictor(DIGITS / "digits_float.tflite")
    outputs = spark.sparkContext.parallelize(list(images), 4).mapPartitions(predict.run_many).collect()
    right = np.mean([scores.argmax() for (scores,) in outputs] == scans["labels"])
    print(f"{right:.1%} of {len(images)} digits are right")
    spark.stop()
    assert right > 0.95


if __name__ == "__main__":
    main()
