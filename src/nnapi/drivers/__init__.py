"""The drivers: the protocol, the reference, engines and wrappers."""
