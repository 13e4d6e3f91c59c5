"""Train the digit classifier of the demo and export it as a float and as a fully quantized .tflite file.

    pip install tensorflow-cpu scikit-learn ai-edge-litert tflite
    python train.py

Only this script needs TensorFlow. It writes digits_float.tflite, digits_quant.tflite and digits_test.npz next to
itself, then prints the operations, size and test accuracy of both files, measured on the files with LiteRT.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf
import tflite
from ai_edge_litert.interpreter import Interpreter
from scipy.ndimage import affine_transform
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent
SEED = 8
EPOCHS = 20
COPIES = 20  # augmented copies of each training scan
WHITE = 16  # the brightest pixel value; the models take pixel / WHITE


def augment(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rotate each scan by up to 12 degrees, scale it by up to 8 % and shift it by up to 0.8 pixels."""
    center = np.full(2, 3.5)
    result = np.empty_like(images)
    for i, image in enumerate(images):
        angle, scale = np.deg2rad(rng.uniform(-12, 12)), rng.uniform(0.92, 1.08)
        matrix = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * scale
        offset = center - matrix @ center + rng.uniform(-0.8, 0.8, 2)
        result[i] = affine_transform(image, matrix, offset, order=1)
    return result


def classifier() -> tf.keras.Model:
    """Return a small network of operations that NNAPI has since feature level 1."""
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.DepthwiseConv2D(3, padding="same", depth_multiplier=2, activation="relu"),
            layers.Conv2D(32, 1, activation="relu"),
            layers.Flatten(),
            layers.Dropout(0.3),
            layers.Dense(10, activation="softmax"),
        ]
    )


def export(model: tf.keras.Model, samples: np.ndarray | None = None) -> bytes:
    """Export the model as .tflite for batches of one; with samples, quantized to int8 from input to output."""
    call = tf.function(lambda image: model(image, training=False))
    signature = call.get_concrete_function(tf.TensorSpec((1, 8, 8, 1), tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([signature])
    if samples is not None:

        def calibration() -> Iterator[list[np.ndarray]]:
            return ([sample[np.newaxis]] for sample in samples)

        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = calibration
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        # NNAPI has one scale per channel for the weights of convolutions, but not for those of FULLY_CONNECTED.
        converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    content: bytes = converter.convert()
    return content


def operations(content: bytes) -> list[str]:
    """Return the names of the operations in a .tflite file, in order."""
    names = {code: name for name, code in vars(tflite.BuiltinOperator).items() if name.isupper()}
    model = tflite.Model.GetRootAs(content, 0)
    graph = model.Subgraphs(0)
    calls = (graph.Operators(i) for i in range(graph.OperatorsLength()))
    return [names[model.OperatorCodes(call.OpcodeIndex()).BuiltinCode()] for call in calls]


def accuracy(content: bytes, images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of scans that LiteRT classifies correctly with a .tflite file."""
    interpreter = Interpreter(model_content=content, num_threads=1)
    interpreter.allocate_tensors()
    (source,), (answer,) = interpreter.get_input_details(), interpreter.get_output_details()
    if source["dtype"] == np.int8:
        scale, zero_point = source["quantization"]
        images = np.clip(np.round(images / scale) + zero_point, -128, 127).astype(np.int8)
    correct = 0
    for image, label in zip(images, labels, strict=True):
        interpreter.set_tensor(source["index"], image[np.newaxis])
        interpreter.invoke()
        correct += int(interpreter.get_tensor(answer["index"]).argmax() == label)
    return correct / len(labels)


def main() -> None:
    """Split, train, export, measure."""
    tf.keras.utils.set_random_seed(SEED)
    tf.config.experimental.enable_op_determinism()
    rng = np.random.default_rng(SEED)

    digits = load_digits()
    train_scans, test_scans, train_labels, test_labels = train_test_split(
        digits.images.astype(np.uint8), digits.target.astype(np.uint8), stratify=digits.target, random_state=SEED
    )
    np.savez_compressed(HERE / "digits_test.npz", images=test_scans, labels=test_labels)

    train, test = (scans[..., np.newaxis].astype(np.float32) / WHITE for scans in (train_scans, test_scans))
    copies = [train] + [augment(train[..., 0], rng)[..., np.newaxis] for _ in range(COPIES)]

    model = classifier()
    rate = tf.keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * len(copies) * len(train) // 64)
    model.compile(tf.keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(np.concatenate(copies), np.tile(train_labels, len(copies)), 64, EPOCHS, verbose=2)

    print(f"{len(train)} training scans, {len(test)} test scans, {model.count_params()} parameters")
    for name, content in {"digits_float": export(model), "digits_quant": export(model, train)}.items():
        (HERE / f"{name}.tflite").write_bytes(content)
        print(f"{name}.tflite: {len(content)} bytes, test accuracy {accuracy(content, test, test_labels):.2%}")
        print("   ", ", ".join(operations(content)))


if __name__ == "__main__":
    main()
