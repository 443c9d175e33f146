"""The one place where a volume claim that all servers of a cluster mount is made."""

from __future__ import annotations

import contextlib

from contracts.shapes.claim_of_all import claim_of_all
from managers.access.context import FIELD_MANAGER, Context
from runtime.errors import AlreadyExists
from runtime.ownership import Owner
from runtime.resources import PVC


async def make_claim_of_all(
    context: Context, owner: Owner, name: str, size: str, storage_class: str | None
) -> None:
    """Create the claim; one that exists is never touched.

    It has no owner reference, so that what it holds outlives a cluster that is deleted by mistake.
    Its annotation proves whose it was, for deletionPolicy DeletePVCs.
    """
    with contextlib.suppress(AlreadyExists):
        body = claim_of_all(owner, name, size, storage_class)
        await context.client.create(PVC, body, field_manager=FIELD_MANAGER)
