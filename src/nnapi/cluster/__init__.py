"""Runs in other processes: a picklable callable for workers, and inputs in shards on a Ray cluster."""
