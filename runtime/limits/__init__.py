"""Bounds on external input: bytes, nesting, values, objects in a cache.

Uses nothing else of the runtime but `runtime.types`.
"""
