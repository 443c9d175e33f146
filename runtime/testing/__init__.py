"""Tools for tests of code built on the runtime: manual time and a scripted API server.

Imported by tests only; may use everything in runtime.
"""
