"""Signatures of container images: fetch from the registry, verify, pin the digest.

Plans and checks are pure; only `registry` uses HTTP, and only `verifier` has a cache. Called by
`managers.cluster`. Decisions: docs/adr/20261121-image-verification.md.
"""
