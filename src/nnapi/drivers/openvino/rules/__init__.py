"""Rules from NNAPI operations to OpenVINO operations, one module per family."""
