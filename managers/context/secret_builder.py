"""Builds all Secrets of the operator, so that all have the same fields."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from contracts.naming import labels
from runtime.apply.ownership import Owner
from runtime.builtin_kinds import SECRET
from runtime.types import Object


def secret_object(
    owner: Owner,
    name: str,
    data: Mapping[str, bytes],
    *,
    kind: str = "Opaque",
    immutable: bool = False,
    annotations: Mapping[str, str] | None = None,
) -> Object:
    """Build a Secret of a cluster, owned by it and annotated with its UID.

    The annotation outlives the owner reference, so that a retained key shows its former owner.
    """
    secret: Object = {
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": {
            "name": name,
            "namespace": owner.namespace,
            "labels": labels.base(owner.name),
            "annotations": {**(annotations or {}), labels.OWNER_UID: owner.uid},
            "ownerReferences": [owner.reference()],
        },
        "type": kind,
        # Not stringData: the API server stores it as data, and each apply would appear as a change.
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }
    if immutable:
        secret["immutable"] = True
    return secret
