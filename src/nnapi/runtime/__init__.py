"""The runtime: devices, compilations, executions, bursts, events and memories."""
