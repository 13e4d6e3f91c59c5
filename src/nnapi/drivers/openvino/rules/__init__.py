"""Rules to operators of OpenVINO, one module per family."""
