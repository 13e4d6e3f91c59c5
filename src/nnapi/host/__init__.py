"""The host: its processor, device files, installed packages, output of engines, and phones connected to it."""
