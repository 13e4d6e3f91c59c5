"""Runs in other processes: a picklable callable, and shards on Ray."""
