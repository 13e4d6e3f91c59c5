"""How a model becomes results: devices, compilations, executions, events."""
