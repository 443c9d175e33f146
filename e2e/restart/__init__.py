"""Restarts that a person asks for, and pods that somebody deletes."""
