"""A fleet of datacenters on a control plane without nodes: what the first pass and quiet cost.

    python -m e2e.fleet --datacenters 1500 --minutes 10

Uses the rig and the harness. Run by `make bench-fleet`; nothing here is a test.
"""
