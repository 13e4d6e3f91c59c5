"""The choice of a plan: stored knowledge of a model, prediction, and trials during real runs."""
