"""From `kubectl apply` to an available cluster: its status, and the number of requests."""
