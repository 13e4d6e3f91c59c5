"""Running a plan: prepared partitions, their fallback, the fast path, queues and worker threads."""
