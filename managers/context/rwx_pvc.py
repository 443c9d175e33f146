"""Creates a PVC that all servers of a cluster mount."""

from __future__ import annotations

import contextlib

from contracts.builders.rwx_pvc import rwx_pvc
from managers.context.context import FIELD_MANAGER, Context
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import PVC
from runtime.errors import AlreadyExists


async def make_rwx_pvc(
    context: Context, owner: Owner, name: str, size: str, storage_class: str | None
) -> None:
    """Create the PVC; an existing one is not changed.

    The PVC has no owner reference, so that its data outlives a cluster that is deleted by mistake.
    Its annotation shows the owner, for deletionPolicy DeletePVCs.
    """
    with contextlib.suppress(AlreadyExists):
        body = rwx_pvc(owner, name, size, storage_class)
        await context.client.create(PVC, body, field_manager=FIELD_MANAGER)
