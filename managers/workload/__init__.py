"""The pods: StatefulSets, rollout, scaling and volumes. Pure except for `actions`."""
