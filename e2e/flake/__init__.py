"""Runs one scenario again and again beside busy loops, to find what fails only at times.

`make flake SCENARIO=tls-rotation N=10` calls it. It may use the rig and pytest; nothing imports it.
"""
