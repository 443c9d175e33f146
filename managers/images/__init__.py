"""Signatures of container images: asking the registry, checking what it says, pinning the content.

Plans and checks are pure; `registry` alone speaks HTTP, `verifier` alone remembers. Called by
`managers.cluster`. Decisions: docs/adr/20261121-image-verification.md.
"""
