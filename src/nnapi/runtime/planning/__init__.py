"""From verdicts and costs to a plan: which device computes which operation, and why."""
