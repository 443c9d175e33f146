"""The pods: StatefulSet, disruption budget, and when a pod is replaced. Pure."""
