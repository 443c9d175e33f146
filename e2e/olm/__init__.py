"""The bundle for OLM: valid for its validators, and complete: the operator needs nothing else."""
