"""Files that outlive a process: one format, one validation, one pruning."""
