"""Snapshots on a PVC, by Jobs that pod security level `restricted` admits."""
