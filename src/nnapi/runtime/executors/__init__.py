"""Execution of plans: prepared partitions, fallback, the fast path, queues and worker threads."""
