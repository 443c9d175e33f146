"""Reads without a watch: Secrets, admission policies, facts about the API server.

Each result has a TTL. Called by the observe step and by the features.
"""
