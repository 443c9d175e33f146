"""A policy for signed images."""

from __future__ import annotations

from tests.contracts.api.cases_images import KEY

POLICY = {"enabled": True, "publicKey": KEY, "ignoreTlog": True}
