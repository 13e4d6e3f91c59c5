"""LiteRT, the engine that runs .tflite graphs: interpreter, cache entries, profiler, lowering."""
