"""Fixtures of the tenant tests: the provisioner, and its audit log."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from contracts.api.group import CLUSTERS, TENANTS
from contracts.tenancy import access_of
from e2e.conftest import MakeNamespace
from e2e.harness.audit import AuditLog, refusals
from e2e.harness.installation import NAMESPACE, Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.modes import tenant_controller
from e2e.harness.operator import Launcher, Operator
from e2e.harness.tenants import await_reason, make_tenant, provisioner_identity, start_provisioner
from e2e.harness.waiting import until
from e2e.rig import Rig
from runtime.builtin_kinds import ROLE, ROLE_BINDING
from runtime.types import Resource

CONTROLLER = "e2e-tenants"
QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
LIMITS = Resource("", "v1", "LimitRange", "limitranges")
EVERYTHING = (ROLE, ROLE_BINDING, QUOTA, LIMITS)


@dataclass(frozen=True, slots=True)
class World:
    """The API, the audit log and the accounts that all tests share."""

    api: Api
    audit: AuditLog
    launcher: Launcher
    account: Identity
    controller: Identity
    make_namespace: MakeNamespace

    def start(self, **environment: str) -> Operator:
        """Start a provisioner, and wait until it watches.

        Requests of an earlier provisioner may be logged only now; they arrived before this start.
        """
        mark, begun = self.audit.mark(), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        provisioner = start_provisioner(self.launcher, self.account, CONTROLLER, environment)

        def watches() -> bool:
            requests = self.audit.since(mark, self.account.user)
            resources = {
                request.resource
                for request in requests
                if request.at >= begun and request.verb == "watch"
            }
            return resources >= {TENANTS.plural, CLUSTERS.plural}

        until("the provisioner watches", watches, 60.0)
        return provisioner

    def create_tenant(self) -> str:
        """Create a namespace and a tenant for it, and wait until it is provisioned."""
        namespace = self.make_namespace()
        make_tenant(self.api, namespace)
        await_reason(self.api, namespace, "Provisioned")
        return namespace

    def is_granted(self, namespace: str, name: str) -> bool:
        """Whether the tenant grants the Secrets that this cluster needs now."""
        cluster = self.api.get(CLUSTERS, namespace, name)
        status = self.api.get(TENANTS, NAMESPACE, namespace).get("status") or {}
        grant = {"cluster": name, "secrets": access_of(cluster).digest}
        return grant in (status.get("grants") or ())

    def rules_of(self, namespace: str, role: str) -> set[str]:
        """The Secrets that a Role names."""
        live = self.api.find(ROLE, namespace, role) or {}
        rules = live.get("rules") or ()
        return {name for rule in rules for name in rule.get("resourceNames", ())}

    def create_paused(self, namespace: str, name: str, **spec: Any) -> None:
        """Create a cluster that is not reconciled."""
        self.api.create(CLUSTERS, manifest(namespace, name, paused=True, **spec))

    def remaining_objects(self, namespace: str) -> list[str]:
        """The remaining objects of a tenant."""
        return [
            live["metadata"]["name"]
            for resource in EVERYTHING
            for live in self.api.list(resource, namespace)
            if live["metadata"]["name"].startswith("openbao-operator-tenant")
        ]


@pytest.fixture(scope="module")
def world(
    rig: Rig,
    api: Api,
    audit: AuditLog,
    launcher: Launcher,
    make_namespace: MakeNamespace,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """Accounts of the provisioner and the controller; tenants of an earlier run are deleted."""
    folder = tmp_path_factory.mktemp("tenants")
    controller = tenant_controller(rig, api, folder)
    account = provisioner_identity(rig, api, folder)
    for live in api.list(TENANTS, None):
        metadata = live["metadata"]
        api.patch(
            TENANTS, metadata["namespace"], metadata["name"], {"metadata": {"finalizers": None}}
        )
        api.delete(TENANTS, metadata["namespace"], metadata["name"])
    mark = audit.mark()
    yield World(api, audit, launcher, account, controller, make_namespace)
    assert not (no := refusals(audit.since(mark, account.user))), "\n".join(map(str, no))
