"""The drivers: the reference, engines, and wrappers around other drivers."""
