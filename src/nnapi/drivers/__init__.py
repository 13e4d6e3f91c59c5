"""The drivers: their protocol, the reference, engines, and wrappers around other drivers."""
