"""Verifies the signatures of container images, and pins the verified digests.

Plans and checks are pure. Only `registry` uses HTTP, and `verifier` caches the verdicts. Called by
`managers.cluster`. Decisions: docs/adr/20261121-image-verification.md.
"""
