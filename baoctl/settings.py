"""Reads the settings of a process of the operator from the environment and flags.

Uses baoctl.installation_settings. Called by baoctl.verbs.process.
"""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from baoctl import variables
from baoctl.api_server_settings import ApiServerSettings, api_server_settings
from baoctl.installation_settings import (
    AUTO,
    MULTI_TENANT,
    PERIOD_MAX,
    installation_of,
    mode_of,
    namespaces_of,
    platform_of,
    reads_of,
)
from baoctl.variables import SettingError
from contracts.ip_address import is_ip
from contracts.naming.installation import DELEGATE
from managers.context.installation import Installation, Mode
from managers.images.trust import Trust
from runtime.leader.shard import SHARDS_MAX, Shard

if TYPE_CHECKING:
    from contracts.rbac.rules import Reads

TENANT_RECHECK = 600.0
WORKERS: Final = 16
"""Concurrent reconciles of one controller; one namespace gets at most a quarter of them."""
NO_TRUST = Trust()
ALL_CLUSTERS = Shard()
TRUST_ROOT_MAX: Final = 1024 * 1024
"""Bytes of a trusted_root.json."""
SHARD: Final = f"must be INDEX/COUNT, 0/2 or 1/2 for two shards; at most {SHARDS_MAX}"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one operator process."""

    installation: Installation
    api_server: ApiServerSettings
    namespaces: tuple[str, ...]
    """The namespaces to watch; empty for all namespaces, or those of tenants."""
    leader_election: bool
    identity: str
    workers: int
    listen: str
    port: int
    log_level: str
    platform: str = AUTO
    """The platform; `auto` detects it from the API server."""
    pod_name: str = ""
    """The pod of this process; "" if it does not run in a pod."""
    images: Trust = NO_TRUST
    """Registries and transparency logs that this installation trusts."""
    datacenters: bool = False
    """Whether this installation also reconciles datacenters."""
    shard: Shard = ALL_CLUSTERS
    """The part of the clusters that this process reconciles."""

    @property
    def runs_datacenters(self) -> bool:
        """Whether this process reconciles datacenters.

        Services depend on services of other datacenters, so the first shard has all datacenters.
        """
        return self.datacenters and not self.shard.index


def from_environment(
    environ: Mapping[str, str] | None = None,
    *,
    watch_namespace: str | None = None,
    shard: str | None = None,
) -> Settings:
    """Read the settings of `baoctl run`; flags override them with `dataclasses.replace`.

    `watch_namespace` and `shard` are flags; they replace WATCH_NAMESPACE and SHARD. Raises
    SettingError for the first invalid value. An empty value counts as unset.
    """
    env = dict(os.environ if environ is None else environ)
    if watch_namespace is not None:
        env["WATCH_NAMESPACE"] = watch_namespace
    if shard is not None:
        env["SHARD"] = shard
    api_server = api_server_settings(env)
    namespaces = namespaces_of(env)
    mode = mode_of(env, namespaces)
    platform = platform_of(env)
    pod = variables.text(env, "POD_NAME", "", variables.is_object_name, variables.OBJECT_NAME)
    return Settings(
        installation=installation_of(env, mode, platform),
        api_server=api_server,
        namespaces=namespaces,
        leader_election=True,
        identity=f"{pod or socket.gethostname()}_{uuid.uuid4()}",
        workers=WORKERS,
        listen=variables.text(env, "LISTEN_ADDRESS", "", is_ip, variables.ADDRESS),
        port=variables.port(env, "METRICS_PORT", 8080),
        log_level=variables.log_level(env),
        platform=platform,
        pod_name=pod,
        images=_trust(env),
        datacenters=_datacenters(env, mode),
        shard=_shard(env),
    )


@dataclass(frozen=True, slots=True)
class ProvisionerSettings:
    """The settings of one provisioner process."""

    process: Settings
    """The settings of every process of the operator. `installation.service_account` is the
    controller, which receives the rights."""
    delegate: str
    """The ServiceAccount in the operator's namespace that the provisioner impersonates."""
    reads: Reads
    """Whether the controller gets rights to list and watch, or to read by name."""
    recheck: float
    """Seconds between two reads of an object without a watch."""


def provisioner_from_environment(environ: Mapping[str, str] | None = None) -> ProvisionerSettings:
    """Read the settings of `baoctl provision`. Raises SettingError like `from_environment`."""
    source = os.environ if environ is None else environ
    env = {**source, "TENANCY_MODE": MULTI_TENANT, "WATCH_NAMESPACE": "", "SHARD": ""}
    return ProvisionerSettings(
        process=from_environment(env),
        delegate=variables.text(
            env,
            "PROVISIONER_DELEGATE_SERVICE_ACCOUNT_NAME",
            DELEGATE,
            variables.is_object_name,
            variables.OBJECT_NAME,
        ),
        reads=reads_of(env),
        recheck=variables.seconds(env, "TENANT_RECHECK_SECONDS", TENANT_RECHECK, PERIOD_MAX),
    )


def _datacenters(env: Mapping[str, str], mode: Mode) -> bool:
    """Read whether to reconcile datacenters. Raises SettingError if the mode does not permit it."""
    enabled = variables.switch(env, "DATACENTERS")
    if enabled and mode != "cluster":
        raise SettingError(
            "DATACENTERS",
            "true",
            "must not be set with WATCH_NAMESPACE or TENANCY_MODE=multi-tenant: "
            "datacenters need access to all namespaces",
        )
    return enabled


def _shard(env: Mapping[str, str]) -> Shard:
    """Read the shard of this process. Raises SettingError."""
    text = env.get("SHARD") or str(ALL_CLUSTERS)
    try:
        return Shard.parse(text)
    except ValueError as error:
        raise SettingError("SHARD", text, SHARD) from error


def _trust(env: Mapping[str, str]) -> Trust:
    """Read the trust of image verification. Raises SettingError for an invalid trust root."""
    insecure = frozenset(
        variables.text_list(env, "INSECURE_REGISTRIES", variables.is_registry, variables.REGISTRY)
    )
    file = env.get("SIGSTORE_TRUSTED_ROOT")
    if not file:
        return Trust(insecure)
    # Imported here: no other setting needs cryptography.
    from managers.images.tlog import read_trust_root

    try:
        return Trust(insecure, read_trust_root(_content(Path(file))))
    except (OSError, ValueError) as error:
        rule = f"must be the path of a trusted_root.json: {_reason(error)}"
        raise SettingError("SIGSTORE_TRUSTED_ROOT", file, rule) from error


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(TRUST_ROOT_MAX + 1)
    if len(content) > TRUST_ROOT_MAX:
        raise ValueError(f"it is larger than {TRUST_ROOT_MAX} bytes")
    return content


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())
