"""What operations cost on a device: declared, measured by microbenchmarks, kept in tables."""
