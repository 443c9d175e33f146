"""Owned apply: intents, who owns an object, server-side apply, and what is known of earlier writes.

May use `runtime.client`, `runtime.cache` and `runtime.metrics`; called by the managers.
"""
