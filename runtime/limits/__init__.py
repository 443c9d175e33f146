"""How much of what others send is read: bytes, nesting, values, objects in a cache.

Uses nothing else of the runtime but `runtime.types`.
"""
