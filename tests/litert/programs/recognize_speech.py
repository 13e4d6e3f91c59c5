"""recognize_speech.py MODEL SOUND: a word in a second of sound, from how loud its frequencies are."""

import sys
import wave

import numpy as np
from ai_edge_litert.interpreter import Interpreter

with wave.open(sys.argv[2]) as file:
    sound = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32)
sound = np.resize(sound, 16000) / 32768
frames = np.lib.stride_tricks.sliding_window_view(sound, 480)[::320] * np.hanning(480)
power = np.abs(np.fft.rfft(frames, 512)) ** 2
bands = np.log(power[:, :240].reshape(len(frames), 40, 6).mean(2) + 1e-6)
features = np.interp(bands, (bands.min(), bands.max()), (-128, 127)).round().astype(np.int8)

interpreter = Interpreter(sys.argv[1])
interpreter.allocate_tensors()
entry, result = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
interpreter.set_tensor(entry["index"], features[:49].reshape(entry["shape"]))
interpreter.invoke()
np.savez("results.npz", codes=interpreter.get_tensor(result["index"]))
