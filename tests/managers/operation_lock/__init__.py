"""managers.operation_lock."""
