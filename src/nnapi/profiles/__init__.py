"""Profiles: files that describe simulated devices by their operations, limits and capabilities."""
