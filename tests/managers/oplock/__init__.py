"""managers.oplock."""
