"""The provisioner with the shipped manifests, and its tenants."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contracts.api.group import TENANTS
from e2e.harness.installation import NAMESPACE, Identity, apply_rights, identity
from e2e.harness.kubernetes import Api, ApiError, Object
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.waiting import until
from e2e.rig import Rig
from e2e.rig.kube import wait_established
from e2e.rig.paths import REPOSITORY

ACCOUNT = "openbao-operator-provisioner"
CRD = REPOSITORY / "config" / "crd" / "openbao.org_openbaotenants.yaml"
ACCOUNTS = REPOSITORY / "deploy" / "provisioner" / "service_accounts.yaml"


def provisioner_identity(rig: Rig, api: Api, folder: Path) -> Identity:
    """Install the CRD, the ServiceAccounts and the RBAC; return the identity of the provisioner."""
    rig.kubectl("apply", "--server-side", "-f", str(CRD))
    wait_established(rig.kubectl, "-f", str(CRD))
    # A new kind is "(re)initializing" for a moment.
    until(
        "tenants can be listed",
        lambda: api.list(TENANTS, None) is not None,
        20.0,
        tolerate=(ApiError,),
    )
    rig.kubectl("-n", NAMESPACE, "apply", "-f", str(ACCOUNTS))
    apply_rights(rig, "provisioner")
    return identity(rig, api, folder, ACCOUNT)


def start_provisioner(
    launcher: Launcher,
    account: Identity,
    controller: str,
    environment: Mapping[str, str] | None = None,
    *,
    elect: bool = False,
) -> Operator:
    """Start `baoctl provision`; `controller` is the account that gets the permissions."""
    return launcher.start(
        account,
        *(() if elect else (NO_ELECTION,)),
        module=("baoctl", "provision"),
        environment={"OPERATOR_SERVICE_ACCOUNT_NAME": controller, **(environment or {})},
    )


def make_tenant(
    api: Api, target: str, *, home: str = NAMESPACE, name: str | None = None, **spec: Any
) -> str:
    """Create an OpenBaoTenant for a namespace; return its name."""
    tenant = name or target
    metadata = {"name": tenant, "namespace": home}
    api.create(TENANTS, {"metadata": metadata, "spec": {"targetNamespace": target, **spec}})
    return tenant


def provisioned_condition(api: Api, name: str, home: str = NAMESPACE) -> Object | None:
    """The condition of a tenant for its current generation; None if there is none."""
    live = api.find(TENANTS, home, name) or {}
    generation = (live.get("metadata") or {}).get("generation")
    conditions: list[Object] = (live.get("status") or {}).get("conditions") or []
    return next(
        (status for status in conditions if status["observedGeneration"] == generation), None
    )


def await_reason(
    api: Api, name: str, reason: str, *, home: str = NAMESPACE, seconds: float = 20.0
) -> Object:
    """Wait until the condition of a tenant has this reason."""

    def condition_with_reason() -> Object | None:
        condition = provisioned_condition(api, name, home)
        return condition if condition is not None and condition["reason"] == reason else None

    return until(f"tenant {home}/{name} has reason {reason}", condition_with_reason, seconds)
