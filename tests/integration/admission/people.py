"""The users of the tests, their permissions, and requests in their names."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contracts.admission.policy import PREFIX
from contracts.admission.referenced_objects import TEST_NAMESPACE, USES
from contracts.admission.secrets import CONFIG_MAP, REFERENCES
from contracts.admission.verb_gated_fields import GATES
from contracts.api.group import CLUSTERS
from runtime.client.client import Client
from runtime.types import Object
from tests.contracts.api.clusters import cluster_object
from tests.integration.accounts import Account

WRITER, READER = "writer", "reader"
EDIT = f"{PREFIX}edit"
PLACE = "itest-admission"
MANAGER = "itest"
WIDE = ("edit", "use-ingress-classes", "use-storage-classes")
_USES = {
    "serviceaccounts": "use-service-accounts",
    "persistentvolumeclaims": "use-volume-claims",
    "gateways": "use-gateways",
    "ingressclasses": "use-ingress-classes",
    "storageclasses": "use-storage-classes",
}
ROLES = {
    **{gate.field: gate.verb.role for gate in GATES},
    **{use.field: _USES[use.resource] for use in USES},
    **{reference.field: "use-secrets" for reference in REFERENCES},
    CONFIG_MAP: "use-secrets",
    TEST_NAMESPACE: "edit",
}
"""The ClusterRole that a field requires."""

People = dict[str, Account]


@asynccontextmanager
async def client_as(account: Account) -> AsyncIterator[Client]:
    """A client with the credentials of an account."""
    client = account.client()
    try:
        yield client
    finally:
        await client.close()


def body(name: str, spec: dict[str, Any], **metadata: Any) -> Object:
    """A cluster with this spec in the namespace of the tests."""
    obj = cluster_object(name, **spec)
    obj["metadata"] |= {"namespace": PLACE, **metadata}
    return obj


async def apply(client: Client, body: Object, *, dry_run: bool = True) -> Object:
    """Apply it; by default as a dry run."""
    response = await client.apply(
        CLUSTERS, body, field_manager=MANAGER, force=True, dry_run=dry_run
    )
    return response.object
