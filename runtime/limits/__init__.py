"""Limits of external input: bytes, nesting, values, objects in a cache.

Of the runtime it uses only `runtime.types`.
"""
