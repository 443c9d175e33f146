"""The operator crashes at each write; the next one completes the first boot, with the same keys."""
