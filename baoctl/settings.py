"""Flags and environment to frozen settings: the only module that reads `os.environ`."""

from __future__ import annotations

import os
import re
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from contracts.rights import Reads
from managers.access.installation import Installation, Mode, Platform
from managers.images.tlog import read_trust_root
from managers.images.verifier import Trust

DEFAULT_NAMESPACE = "openbao-operator-system"
DEFAULT_ACCOUNT = "openbao-operator-controller"
DEFAULT_DELEGATE = "openbao-operator-provisioner-delegate"
TENANT_RECHECK = 600.0
DEFAULT_REPOSITORY = "openbao/openbao"
DEFAULT_AUDIENCE = "openbao-internal"
SECRET_RECHECK = 15.0
ADMISSION_RECHECK = 600.0
POD_DEADLINE = 600.0
NO_TRUST = Trust()
AUTO = "auto"
SINGLE_TENANT = "single-tenant"
MULTI_TENANT = "multi-tenant"
READS: Mapping[str, Reads] = {"poll": "poll", "watch": "watch"}
NAMESPACE_MAX = 63
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
PLATFORMS: Mapping[str, Platform] = {"kubernetes": "kubernetes", "openshift": "openshift"}


@dataclass(frozen=True, slots=True)
class Settings:
    """How one operator process runs."""

    installation: Installation
    api_server_host: str | None
    """Address of the API server as pods see it; None: ask the API server."""
    kubeconfig: str | None
    """None: this process runs in a pod."""
    namespaces: tuple[str, ...]
    """The namespaces whose clusters are looked at; none named: all, or those of tenants."""
    leader_election: bool
    identity: str
    workers: int
    listen: str
    port: int
    log_level: str
    platform: str = AUTO
    """Who says on which platform this process runs: `auto` for the API server, or its name."""
    pod_name: str = ""
    """The pod of this process; "" when it runs in none."""
    images: Trust = NO_TRUST
    """Registries and transparency logs that this installation believes in."""
    datacenters: bool = False
    """Whether this process looks after datacenters, too."""


def from_environment(
    environ: Mapping[str, str] | None = None, *, watch_namespace: str | None = None
) -> Settings:
    """Read the settings of `baoctl run`; flags override them with `dataclasses.replace`.

    `watch_namespace` stands for the flag, which the mode follows from as from the environment.
    Raises ValueError for settings that make no sense.
    """
    env = dict(os.environ if environ is None else environ)
    if watch_namespace is not None:
        env["WATCH_NAMESPACE"] = watch_namespace
    in_pod = "KUBERNETES_SERVICE_HOST" in env
    platform = _platform(env)
    namespaces = _namespaces(env)
    return Settings(
        installation=Installation(
            namespace=env.get("POD_NAMESPACE", DEFAULT_NAMESPACE),
            service_account=env.get("OPERATOR_SERVICE_ACCOUNT_NAME", DEFAULT_ACCOUNT),
            image_repository=env.get("RELATED_IMAGE_OPENBAO", DEFAULT_REPOSITORY),
            secret_recheck=SECRET_RECHECK,
            operator_image=env.get("OPERATOR_IMAGE", ""),
            platform=PLATFORMS.get(platform, "kubernetes"),
            audience=env.get("OPENBAO_JWT_AUDIENCE") or DEFAULT_AUDIENCE,
            admission_recheck=_seconds(env, "ADMISSION_RECHECK_SECONDS", ADMISSION_RECHECK),
            pod_deadline=timedelta(
                seconds=_seconds(env, "UPGRADE_POD_DEADLINE_SECONDS", POD_DEADLINE)
            ),
            mode=_mode(env, namespaces),
            reads=reads_of(env),
        ),
        api_server_host=env.get("KUBERNETES_SERVICE_HOST"),
        kubeconfig=None if in_pod else env.get("KUBECONFIG", str(Path.home() / ".kube/config")),
        namespaces=namespaces,
        leader_election=True,
        identity=f"{env.get('POD_NAME') or socket.gethostname()}_{uuid.uuid4()}",
        workers=4,
        listen=env.get("LISTEN_ADDRESS", ""),
        port=int(env.get("METRICS_PORT", "8080")),
        log_level=env.get("LOG_LEVEL", "info"),
        platform=platform,
        pod_name=env.get("POD_NAME", ""),
        images=_trust(env),
        datacenters=_datacenters(env, namespaces),
    )


@dataclass(frozen=True, slots=True)
class ProvisionerSettings:
    """How one provisioner process runs."""

    process: Settings
    """What every process of the operator is told. `installation.service_account` is the
    controller, who gets the rights."""
    delegate: str
    """The ServiceAccount as whom rights are written; in the operator's namespace."""
    reads: Reads
    """What the controller is granted: to list and watch, or to read one by one."""
    recheck: float
    """Seconds after which objects that nobody watches are looked at again."""


def provisioner_from_environment(environ: Mapping[str, str] | None = None) -> ProvisionerSettings:
    """Read the settings of `baoctl provision`. Raises ValueError for settings without sense."""
    given = os.environ if environ is None else environ
    env = {**given, "TENANCY_MODE": MULTI_TENANT, "WATCH_NAMESPACE": ""}
    recheck = _seconds(env, "TENANT_RECHECK_SECONDS", TENANT_RECHECK)
    return ProvisionerSettings(
        process=from_environment(env),
        delegate=env.get("PROVISIONER_DELEGATE_SERVICE_ACCOUNT_NAME") or DEFAULT_DELEGATE,
        reads=reads_of(env),
        recheck=recheck,
    )


def _seconds(env: Mapping[str, str], name: str, default: float) -> float:
    """Read a period. Raises ValueError for less than a second."""
    period = float(env.get(name, default))
    if not period >= 1:
        raise ValueError(f"{name} {period:g}: must be at least 1")
    return period


def _namespaces(env: Mapping[str, str]) -> tuple[str, ...]:
    """Read which namespaces are looked at, each once. Raises ValueError for what is no name."""
    named = [one.strip() for one in env.get("WATCH_NAMESPACE", "").split(",")]
    found = tuple(dict.fromkeys(filter(None, named)))
    for name in found:
        if len(name) > NAMESPACE_MAX or not _NAMESPACE.fullmatch(name):
            raise ValueError(f"WATCH_NAMESPACE: {name[:80]!r} is no name of a namespace")
    return found


def _mode(env: Mapping[str, str], namespaces: tuple[str, ...]) -> Mode:
    """Read the mode. Raises ValueError for one that is not known, or that contradicts itself."""
    tenancy = env.get("TENANCY_MODE") or SINGLE_TENANT
    if tenancy not in (SINGLE_TENANT, MULTI_TENANT):
        known = f"{SINGLE_TENANT}, {MULTI_TENANT}"
        raise ValueError(f"TENANCY_MODE {tenancy!r}: must be one of {known}")
    if tenancy == SINGLE_TENANT:
        return "namespaces" if namespaces else "cluster"
    if namespaces:
        raise ValueError(
            "WATCH_NAMESPACE must not be set with TENANCY_MODE=multi-tenant: "
            "the OpenBaoTenants say which namespaces are looked at"
        )
    return "tenants"


def _datacenters(env: Mapping[str, str], namespaces: tuple[str, ...]) -> bool:
    """Read whether there are datacenters. Raises ValueError where they cannot be served."""
    named = env.get("DATACENTERS") or "false"
    if named not in ("true", "false"):
        raise ValueError(f"DATACENTERS {named!r}: must be true or false")
    if named == "true" and _mode(env, namespaces) != "cluster":
        raise ValueError(
            "DATACENTERS must not be set with WATCH_NAMESPACE or TENANCY_MODE=multi-tenant: "
            "datacenters name their namespaces themselves, and tenants have none"
        )
    return named == "true"


def reads_of(env: Mapping[str, str]) -> Reads:
    """Read how the objects of tenants are read. Raises ValueError for a way that is not known."""
    named = env.get("TENANT_READS") or "poll"
    if named not in READS:
        raise ValueError(f"TENANT_READS {named!r}: must be one of {', '.join(READS)}")
    if env.get("TENANCY_MODE") != MULTI_TENANT:
        return "watch"
    return READS[named]


def _platform(env: Mapping[str, str]) -> str:
    """Read the platform. Raises ValueError for one that is not known."""
    named = env.get("OPERATOR_PLATFORM") or AUTO
    if named != AUTO and named not in PLATFORMS:
        known = ", ".join((AUTO, *PLATFORMS))
        raise ValueError(f"OPERATOR_PLATFORM {named!r}: must be one of {known}")
    return named


def _trust(env: Mapping[str, str]) -> Trust:
    """Read what images are proven with. Raises ValueError when the trust root cannot be used."""
    insecure = frozenset(filter(None, env.get("INSECURE_REGISTRIES", "").split(",")))
    file = env.get("SIGSTORE_TRUSTED_ROOT")
    if not file:
        return Trust(insecure)
    try:
        return Trust(insecure, read_trust_root(Path(file).read_bytes()))
    except (OSError, ValueError) as error:
        raise ValueError(f"SIGSTORE_TRUSTED_ROOT {file}: {error}") from error
