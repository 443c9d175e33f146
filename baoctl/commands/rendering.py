"""Renders the objects of a cluster with the code of the controller: resolve, then plan.

Pure. It assumes the state of a healthy cluster (baoctl.commands.assumed). Called by
baoctl.commands.render and baoctl.commands.cluster.plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from baoctl.commands.assumed import NO_UID, RenderOptions, assume_observed, assumed_secrets
from baoctl.commands.manifest_fields import FIELDS_MAX, unknown_paths
from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import suggestion
from baoctl.yaml_text import TextError, objects_of, read_documents
from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.group import API_VERSION, CLUSTER_KIND
from contracts.api.rules.cluster import violations
from contracts.api.violation import InvalidClusterError, format_value
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


class RenderError(VerbError):
    """The manifest cannot be rendered; the text has the reason and message of a condition."""


@dataclass(frozen=True, slots=True)
class Rendering:
    """The objects of one cluster in the order in which they are applied, and the outcomes."""

    resolved: Resolved
    intents: tuple[Intent, ...]
    outcomes: tuple[Outcome, ...]
    secrets: tuple[str, ...]
    """Names of the Secrets of the cluster; they are not part of the intents."""


def clusters_of(text: str | bytes, name: str = "the manifest") -> tuple[Object, ...]:
    """Return the OpenBaoClusters of a YAML text, which has this name. Raises RenderError."""
    try:
        documents = tuple(objects_of(read_documents(text)))
    except TextError as error:
        raise RenderError(f"{name} cannot be read: {error}") from None
    clusters = tuple(document for document in documents if document.get("kind") == CLUSTER_KIND)
    if not clusters:
        missing = f"there is no {CLUSTER_KIND} of {API_VERSION} in {name}{_only(documents)}"
        raise RenderError(missing, ExitCode.NOT_FOUND)
    return clusters


def _only(documents: Sequence[Object]) -> str:
    """Name the first kinds of a manifest, and suggest the right one for a typo."""
    kinds = list(dict.fromkeys(str(document.get("kind")) for document in documents))
    if not kinds:
        return ", which has no objects"
    hint = next(filter(None, (suggestion(kind, (CLUSTER_KIND,)) for kind in kinds)), "")
    return f", only {format_value(', '.join(kinds[:FIELDS_MAX]))}{hint}"


def render_objects(manifest: Object, options: RenderOptions) -> Rendering:
    """Render one cluster. Raises RenderError if it violates a rule or cannot be resolved."""
    live = _with_server_fields(manifest, options)
    try:
        cluster = OpenBaoCluster.from_manifest(live)
        _expect_known_fields(manifest)
        names.stateful_set(cluster.metadata.name)
        # Without a status in both phases, because some rules exempt an initialized cluster.
        rule_violations = violations(OpenBaoCluster.from_object({**live, "status": {}}))
    except (InvalidClusterError, ValueError) as error:
        raise RenderError(f"InvalidSpec: {error}", ExitCode.REFUSED) from None
    if rule_violations:
        raise RenderError(f"InvalidSpec: {'; '.join(map(str, rule_violations))}", ExitCode.REFUSED)
    owner = owner_of(live)
    resolved = _resolve(cluster, owner, options, assume_observed(cluster, options))
    observed = replace(
        assume_observed(cluster, options), secrets=assumed_secrets(cluster, resolved)
    )
    # Resolve again, because part of the resolved state depends on the Secrets.
    resolved = _resolve(cluster, owner, options, observed)
    desired = merge_plans(resolved, observed)
    intents = tuple(desired.intents)
    if not desired.complete:
        # A step waits for an input that only a live cluster has; the workload does not need it.
        intents += WORKLOAD.plan(resolved, observed).intents
    return Rendering(resolved, intents, desired.outcomes, tuple(sorted(observed.secrets)))


def _expect_known_fields(manifest: Object) -> None:
    """Raise RenderError for a field that the API server would reject or silently drop."""
    fields = ", ".join(unknown_paths(manifest.get("spec"), ClusterSpec))
    if fields:
        text = f"InvalidSpec: unknown fields: {fields}; correct or remove them"
        raise RenderError(text, ExitCode.REFUSED)


def _with_server_fields(manifest: Object, options: RenderOptions) -> Object:
    version, metadata = manifest.get("apiVersion"), manifest.get("metadata") or {}
    if version != API_VERSION:
        text = f"InvalidSpec: apiVersion: must be {API_VERSION} (got {format_value(version)})"
        raise RenderError(text, ExitCode.REFUSED)
    if not isinstance(metadata, dict):
        text = f"InvalidSpec: metadata: must be a mapping (got {format_value(metadata)})"
        raise RenderError(text, ExitCode.REFUSED)
    metadata = dict(metadata)
    metadata.setdefault("namespace", options.namespace)
    metadata.setdefault("uid", NO_UID)
    metadata.setdefault("generation", 1)
    # A status in the manifest is ignored: the output depends only on the spec.
    status = {"initialized": True} if options.phase == "running" else {}
    return {**manifest, "metadata": metadata, "status": status}


def _resolve(
    cluster: OpenBaoCluster, owner: Owner, options: RenderOptions, observed: Observed
) -> Resolved:
    resolved = resolve(cluster, owner, observed, options.installation)
    if isinstance(resolved, Blocked):
        raise RenderError(f"{resolved.reason}: {resolved.message}", ExitCode.REFUSED)
    return resolved
