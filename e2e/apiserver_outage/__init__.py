"""The API server is down for some time: the operator keeps running, and repairs drift after it."""
