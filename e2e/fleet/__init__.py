"""Measures the cost of many datacenters, on a control plane without nodes.

    python -m e2e.fleet --datacenters 1500 --minutes 10

Uses the rig and the harness. Run by `make bench-fleet`; nothing here is a test.
"""
