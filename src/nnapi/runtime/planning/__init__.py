"""Planning: from verdicts and costs to a plan, which says where each operation runs, and why."""
