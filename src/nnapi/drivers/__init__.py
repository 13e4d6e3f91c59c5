"""Who computes: the driver protocol, the reference, engines and wrappers."""
