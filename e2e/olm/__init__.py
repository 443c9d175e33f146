"""The bundle for OLM: accepted by its validators, and complete: nothing else is needed to run."""
