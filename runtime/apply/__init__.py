"""Owned apply: intents, ownership, server-side apply, and a cache of earlier writes.

May use `runtime.client`, `runtime.cache` and `runtime.metrics`; called by the managers.
"""
