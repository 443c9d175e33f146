"""From `kubectl apply` to an available cluster: status, and cost."""
