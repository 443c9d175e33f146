"""Formats that several fields share: URLs, schedules, paths and public keys.

Pure. May use `contracts.api.meta`; called by models and rules.
"""
