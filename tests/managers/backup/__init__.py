"""managers.backup."""
