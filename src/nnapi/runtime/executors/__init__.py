"""What runs a plan: prepared parts, their fallback, the fast path, queues and worker threads."""
