"""The objects of a cluster, by the code of the controller: resolve, then every step of the plan.

Pure. For what only a cluster has, it assumes the healthy state (baoctl.commands.assumed). Called by
`baoctl render` and `baoctl plan`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from baoctl.commands.assumed import NO_UID, RenderOptions, assumed, assumed_secrets
from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from baoctl.yaml_text import TextError, objects_of, read_documents
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.rules.cluster import violations
from contracts.api.schema.crd import open_api_schema, unknown_fields
from contracts.api.violation import InvalidClusterError, shown
from contracts.naming import names
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.cluster.owner import owner_of
from managers.cluster.plan.steps import WORKLOAD, merge_plans
from managers.cluster.resolve.resolve import resolve
from runtime.apply.intent import Intent
from runtime.apply.ownership import Owner
from runtime.outcome import Blocked, Outcome
from runtime.types import Object

NAMED: Final = 5
"""Unknown fields that a message names."""


class RenderError(VerbError):
    """There is nothing to print; the text gives the reason, as a condition does."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The objects of one cluster in the order of the apply, and what would hold them back."""

    resolved: Resolved
    intents: tuple[Intent, ...]
    outcomes: tuple[Outcome, ...]
    secrets: tuple[str, ...]
    """Names of the Secrets that it reads; they are not among the intents."""


def clusters_of(text: str | bytes) -> tuple[Object, ...]:
    """Return the OpenBaoClusters of a YAML text. Raises RenderError."""
    try:
        documents = tuple(objects_of(read_documents(text)))
    except TextError as error:
        raise RenderError(f"the manifest cannot be read: {error}") from None
    clusters = tuple(one for one in documents if one.get("kind") == CLUSTER_KIND)
    if not clusters:
        raise RenderError(f"there is no {CLUSTER_KIND} of {API_VERSION} in it", ExitCode.NOT_FOUND)
    return clusters


def rendering(manifest: Object, options: RenderOptions) -> Rendering:
    """Plan one cluster. Raises RenderError when it breaks a rule or cannot be resolved."""
    live = _as_stored(manifest, options)
    try:
        cluster = OpenBaoCluster.from_object(live)
        _expect_known_fields(manifest)
        names.stateful_set(cluster.metadata.name)
        # In either phase: some rules exempt a cluster that has data, and this one has none yet.
        broken = violations(OpenBaoCluster.from_object({**live, "status": {}}))
    except (InvalidClusterError, ValueError) as error:
        raise RenderError(f"InvalidSpec: {error}", ExitCode.REFUSED) from None
    if broken:
        raise RenderError(f"InvalidSpec: {'; '.join(map(str, broken))}", ExitCode.REFUSED)
    owner = owner_of(live)
    resolved = _resolved(cluster, owner, options, assumed(cluster, options))
    observed = replace(assumed(cluster, options), secrets=assumed_secrets(cluster, resolved))
    # Again: part of the resolved state follows from the Secrets.
    resolved = _resolved(cluster, owner, options, observed)
    desired = merge_plans(resolved, observed)
    intents = tuple(desired.intents)
    if not desired.complete:
        # An input that only a cluster has is missing; the pods are known anyway.
        intents += WORKLOAD.plan(resolved, observed).intents
    return Rendering(resolved, intents, desired.outcomes, tuple(sorted(observed.secrets)))


def _expect_known_fields(manifest: Object) -> None:
    """Raise RenderError for a field that the API server would refuse, or drop without a word."""
    unknown = list(islice(unknown_fields(manifest.get("spec"), _spec_schema(), "spec"), NAMED))
    if unknown:
        fields = ", ".join(f"{path}{_meant(path)}" for path in unknown)
        text = f"InvalidSpec: unknown fields: {fields}; correct or remove them"
        raise RenderError(text, ExitCode.REFUSED)


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
        text = f"InvalidSpec: apiVersion: must be {API_VERSION} (got {shown(version)})"
        raise RenderError(text, ExitCode.REFUSED)
    if not isinstance(metadata, dict):
        text = f"InvalidSpec: metadata: must be a mapping (got {shown(metadata)})"
        raise RenderError(text, ExitCode.REFUSED)
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
        raise RenderError(f"{resolved.reason}: {resolved.message}", ExitCode.REFUSED)
    return resolved
