"""Runs a scenario repeatedly under CPU load, to find flaky tests.

`make flake SCENARIO=tls-rotation N=10` runs it. It may use the rig and pytest; nothing imports it.
"""
