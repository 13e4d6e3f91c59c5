"""The C interface of the runtime: libneuralnetworks.so, its functions and its handles."""
