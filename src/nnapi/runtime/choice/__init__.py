"""The choice of a plan: knowledge of a model on this machine, prediction, trials on real runs."""
