"""`baoctl render`: the objects that the operator would create for a manifest, without a cluster.

It uses the code of the controller: resolve, then every step of the plan. For what only a cluster
has, it assumes the healthy state; Secrets are never invented, and are named in comments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import Any, Literal

import yaml

from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from baoctl.yaml_text import TextError, objects_of, read_documents
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.rules.cluster import violations
from contracts.api.schema.crd import open_api_schema, unknown_fields
from contracts.api.violation import InvalidClusterError, shown
from contracts.naming import names
from contracts.optional_kinds import OPTIONAL_KINDS
from contracts.records.environment import NO_ENDPOINTS, ApiEndpoints
from contracts.records.exposure import ExposureFacts
from contracts.records.observed import Observed, PoolFacts, StatefulSetFacts, TokenIssuer
from contracts.records.resolved import Resolved
from contracts.records.secrets import CertificateFacts, CredentialFacts, SecretFacts
from managers.cluster.observe.observer import secret_names
from managers.cluster.plan.steps import WORKLOAD, merge_plans
from managers.cluster.reconcile import owner_of
from managers.cluster.resolve.resolve import resolve
from managers.context.installation import Installation
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner
from runtime.cache.optional_kind import KindAvailability, OptionalKind
from runtime.outcome import Blocked, Outcome
from runtime.types import Object

Phase = Literal["first-boot", "running"]
NO_UID = "00000000-0000-0000-0000-000000000000"
# Nothing of what is printed depends on the moment; the certificates are valid around it.
NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
UNKNOWN = "known-in-the-cluster-only"
ISSUER = TokenIssuer("https://kubernetes.default.svc", (UNKNOWN,))
HEADER = "# What the operator makes of {kind} {namespace}/{name}, {phase}.\n"
NAMED = 5
"""Unknown fields that a message names."""
_LEADING = ("apiVersion", "kind", "metadata")


class RenderError(VerbError):
    """There is nothing to print; the text gives the reason, as a condition does."""


@dataclass(frozen=True, slots=True)
class RenderOptions:
    """What is not in the manifest: the installation and the namespace that it is rendered for."""

    installation: Installation
    namespace: str
    """For a manifest that names none."""
    api_server_hosts: tuple[str, ...]
    phase: Phase
    api_endpoints: ApiEndpoints = NO_ENDPOINTS


class _Dumper(yaml.SafeDumper):
    """Writes equal parts in full, and texts of several lines as blocks."""

    def ignore_aliases(self, data: object) -> bool:
        """Never use one."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


class _Supplied(Mapping[str, CredentialFacts]):
    """The keys of a Secret that a user will create: every key exists and is valid."""

    _GOOD = CredentialFacts(
        size=32, blank=False, unseal_key=True, certificate=True, json_object=True
    )

    def __getitem__(self, key: str) -> CredentialFacts:
        return self._GOOD

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def render(text: str | bytes, options: RenderOptions) -> str:
    """Print every object that belongs to the clusters in a YAML text, the same bytes each time.

    Raises RenderError when a manifest cannot be read or breaks a rule.
    """
    try:
        documents = tuple(objects_of(read_documents(text)))
    except TextError as error:
        raise RenderError(f"the manifest cannot be read: {error}") from None
    clusters = [one for one in documents if one.get("kind") == CLUSTER_KIND]
    if not clusters:
        raise RenderError(f"there is no {CLUSTER_KIND} of {API_VERSION} in it", ExitCode.NOT_FOUND)
    return "".join(_cluster(one, options) for one in clusters)


def _cluster(manifest: Object, options: RenderOptions) -> str:
    live = _as_stored(manifest, options)
    try:
        cluster = OpenBaoCluster.from_object(live)
        _expect_known_fields(manifest)
        names.stateful_set(cluster.metadata.name)
        # In either phase: some rules exempt a cluster that has data, and this one has none yet.
        broken = violations(OpenBaoCluster.from_object({**live, "status": {}}))
    except (InvalidClusterError, ValueError) as error:
        raise RenderError(f"InvalidSpec: {error}") from None
    if broken:
        raise RenderError(f"InvalidSpec: {'; '.join(map(str, broken))}")
    owner = owner_of(live)
    resolved = _resolved(cluster, owner, options, _assumed(cluster, options))
    observed = replace(_assumed(cluster, options), secrets=_secrets(cluster, resolved))
    # Again: part of the resolved state follows from the Secrets.
    resolved = _resolved(cluster, owner, options, observed)
    return "".join(_documents(resolved, observed, options.phase))


def _expect_known_fields(manifest: Object) -> None:
    """Raise RenderError for a field that the API server would refuse, or drop without a word."""
    unknown = list(islice(unknown_fields(manifest.get("spec"), _spec_schema(), "spec"), NAMED))
    if unknown:
        fields = ", ".join(f"{path}{_meant(path)}" for path in unknown)
        raise RenderError(f"InvalidSpec: unknown fields: {fields}; correct or remove them")


@lru_cache(maxsize=1)
def _spec_schema() -> Mapping[str, Any]:
    schema: Mapping[str, Any] = open_api_schema()["properties"]["spec"]
    return schema


def _meant(path: str) -> str:
    """Return the fields beside an unknown one that it is perhaps a slip of."""
    *above, last = path.split(".")
    node = _spec_schema()
    for name in above[1:]:
        node = node.get("properties", {}).get(name.partition("[")[0], {})
        node = node.get("items", node)
    return (
        suggestion(last, tuple(node.get("properties", {})))
        .replace("; did", " (did")
        .replace("?", "?)")
    )


def _as_stored(manifest: Object, options: RenderOptions) -> Object:
    version, metadata = manifest.get("apiVersion"), manifest.get("metadata") or {}
    if version != API_VERSION:
        raise RenderError(f"InvalidSpec: apiVersion: must be {API_VERSION} (got {shown(version)})")
    if not isinstance(metadata, dict):
        raise RenderError(f"InvalidSpec: metadata: must be a mapping (got {shown(metadata)})")
    metadata = dict(metadata)
    metadata.setdefault("namespace", options.namespace)
    metadata.setdefault("uid", NO_UID)
    metadata.setdefault("generation", 1)
    # A status in the manifest is ignored: the output follows from the spec.
    status = {"initialized": True} if options.phase == "running" else {}
    return {**manifest, "metadata": metadata, "status": status}


def _resolved(
    cluster: OpenBaoCluster, owner: Owner, options: RenderOptions, observed: Observed
) -> Resolved:
    resolved = resolve(cluster, owner, observed, options.installation)
    if isinstance(resolved, Blocked):
        raise RenderError(f"{resolved.reason}: {resolved.message}")
    return resolved


def _assumed(cluster: OpenBaoCluster, options: RenderOptions) -> Observed:
    # Without a StatefulSet: there is none that the desired one could differ from.
    return Observed(
        now=NOON,
        token_issuer=ISSUER,
        api_server_hosts=options.api_server_hosts,
        api_endpoints=options.api_endpoints,
        read=_read_pool(cluster, options),
        exposure=ExposureFacts({kind.definition: _newest(kind) for kind in OPTIONAL_KINDS}),
    )


def _read_pool(cluster: OpenBaoCluster, options: RenderOptions) -> PoolFacts:
    """Assume that the read replicas have found a leader: no more are added before that."""
    replicas = cluster.spec.servers - cluster.spec.replicas
    if options.phase == "first-boot" or not replicas:
        return PoolFacts()
    storage = cluster.spec.read_replicas.storage if cluster.spec.read_replicas else None
    voters = cluster.spec.storage
    live = StatefulSetFacts(
        uid=NO_UID,
        replicas=replicas,
        ready_replicas=replicas,
        template="",
        reload_hash="",
        first_boot=False,
        settled=True,
        claim_size=str((storage.size if storage else None) or voters.size),
        claim_class=(storage.storage_class_name if storage else None) or voters.storage_class_name,
    )
    return PoolFacts(live)


def _newest(kind: OptionalKind) -> KindAvailability:
    """Assume that the API server serves the newest version that the operator can write."""
    return KindAvailability(True, kind.versions, kind.resources[0])


def _secrets(cluster: OpenBaoCluster, resolved: Resolved) -> dict[str, SecretFacts]:
    tls = resolved.tls
    required = (
        *(name for name, _ in secret_names(cluster)),
        tls.server_secret,
        tls.authority_secret,
    )
    all_names = (*required, tls.acme_ca_secret, tls.issuer_secret)
    return {name: _secret(name, resolved) for name in all_names if name}


def _secret(name: str, resolved: Resolved) -> SecretFacts:
    certificate = CertificateFacts(
        fingerprint=UNKNOWN,
        not_before=NOON - timedelta(days=1),
        not_after=NOON + timedelta(days=3650),
        dns_names=frozenset(resolved.certificate_names),
        ip_addresses=frozenset(resolved.certificate_addresses),
        key_matches=True,
        issuer_fingerprint=UNKNOWN,
    )
    return SecretFacts(
        name=name,
        uid=NO_UID,
        mine=True,
        owner="",
        terminating=False,
        certificate=certificate,
        authority=UNKNOWN,
        trusted=(UNKNOWN,),
        chain_root=UNKNOWN,
        keys=_Supplied(),
    )


def _documents(resolved: Resolved, observed: Observed, phase: Phase) -> Iterator[str]:
    desired = merge_plans(resolved, observed)
    intents: list[Intent] = [*desired.intents]
    yield HEADER.format(
        kind=CLUSTER_KIND, namespace=resolved.namespace, name=resolved.name, phase=phase
    )
    yield from _remarks(resolved, desired.outcomes, sorted(observed.secrets))
    if not desired.complete:
        # An input that only a cluster has is missing; the pods are known anyway.
        intents += WORKLOAD.plan(resolved, observed).intents
    for intent in intents:
        yield "---\n"
        yield _yaml(intent.body)


def _remarks(
    resolved: Resolved, outcomes: Sequence[Outcome], secrets: Collection[str]
) -> Iterator[str]:
    yield "# Not printed, because it is never made up:\n"
    for name in secrets:
        yield f"#   Secret {name}: {_maker(resolved, name)}\n"
    yield (
        "# openbao.org/reload-hash follows the server certificate, and the addresses of the API\n"
        "# server are those of --api-server-host; both are others in a cluster.\n"
    )
    for outcome in outcomes:
        if isinstance(outcome, Blocked):
            yield f"# The pods would wait: {outcome.reason}: {outcome.message}\n"


def _maker(resolved: Resolved, name: str) -> str:
    cluster = resolved.name
    generated = {
        names.tls_ca_secret(cluster): "ca.crt, ca.key",
        names.tls_server_secret(cluster): "tls.crt, tls.key, ca.crt",
        names.root_token_secret(cluster): "token",
    }
    supplied = {
        resolved.tls.server_secret: "tls.crt, tls.key, ca.crt",
        resolved.tls.authority_secret: "ca.crt",
    }
    if resolved.tls.mode != "OperatorManaged" and name in supplied:
        return f"made by you, with the keys {supplied[name]}"
    if name in generated:
        return f"made by the operator, with the keys {generated[name]}"
    if name == resolved.unseal.spec.secret_name:
        return "made by you, with the keys that spec.unseal names"
    if name in (resolved.tls.acme_ca_secret, resolved.tls.issuer_secret):
        return "made by you, with the authorities that tls.acme.caSecretRef asks for"
    return "made by the operator, with an unseal key that is drawn once"


def _yaml(body: Object) -> str:
    ordered = {key: body[key] for key in _LEADING if key in body}
    ordered |= {key: value for key, value in sorted(body.items()) if key not in ordered}
    text: Any = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    return str(text)
