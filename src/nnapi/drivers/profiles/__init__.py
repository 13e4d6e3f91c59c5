"""Devices that are not here: what one takes and declares, written in a file, and computed by a device that is."""
