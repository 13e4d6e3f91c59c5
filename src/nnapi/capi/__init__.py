"""How C sees the runtime: libneuralnetworks.so, its functions, its handles."""
