"""From `kubectl apply` to a cluster that serves: what a user sees, and what it costs."""
