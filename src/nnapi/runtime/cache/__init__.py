"""The compilation cache: payloads of drivers and plans, stored as entries of ``store``."""
