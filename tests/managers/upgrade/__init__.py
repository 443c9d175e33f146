"""managers.upgrade."""
