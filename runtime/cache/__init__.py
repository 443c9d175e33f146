"""Caches of objects: reflectors, informers, stores, and polling where a watch is not allowed.

The `pkg/cache` of controller-runtime and the `tools/cache` of client-go.
"""
