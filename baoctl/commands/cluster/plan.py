"""`baoctl plan`: shows what applying a manifest would change. Changes nothing.

A dry run of the API server applies its defaults, its schema and its policies. Without an API
server, the plan uses the merge of kubectl and the rules of the operator. Called by
baoctl.verbs.plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Group

from baoctl.commands.api_client import Session, run_in_session
from baoctl.commands.assumed import RenderOptions
from baoctl.commands.cluster.forecast import PlanForecast, forecast
from baoctl.commands.cluster.merge import apply_manifest, last_applied
from baoctl.commands.cluster.plan_screen import screen
from baoctl.commands.cluster.terminal import present
from baoctl.commands.preconditions import version_precondition
from baoctl.commands.rendering import RenderError, Rendering, clusters_of, render_objects
from baoctl.exit_codes import ExitCode
from baoctl.installation_settings import installation_from_environment
from baoctl.options import Access
from contracts.api.group import API_VERSION, CLUSTER_KIND, CLUSTERS
from runtime.errors import NotFound
from runtime.types import Object, ObjectKey, key_of

_HOSTS: Final = ("10.96.0.1",)
"""The same address before and after the edit, so that it causes no difference."""
_NAMESPACE: Final = "default"


def plan(
    manifest: bytes, dump: bytes | None, access: Access, *, manager: str, output: str
) -> ExitCode:
    """Print the plan of each cluster in a manifest.

    With a dump it sends no request to an API server. Raises VerbError.
    """
    manifests = clusters_of(manifest)
    for document in manifests:
        # Before the dry run, because only this check suggests names for unknown fields.
        namespaced = _with_namespace(document, access.namespace or _NAMESPACE)
        render_objects(namespaced, _options(namespaced, None))
    if dump is not None:
        clusters = (
            _with_namespace(cluster, _NAMESPACE) for cluster in clusters_of(dump, "the dump")
        )
        stored = {key_of(cluster): cluster for cluster in clusters}
        forecasts = [
            _offline(document, stored, access.namespace or _NAMESPACE) for document in manifests
        ]
    else:

        async def run(api: Session) -> list[PlanForecast]:
            return [await _live(api, document, manager) for document in manifests]

        forecasts = run_in_session("plan", run, access)
    present(forecasts, Group(*(part for result in forecasts for part in screen(result))), output)
    return ExitCode.NOT_READY if any(result.blocked for result in forecasts) else ExitCode.GOOD


def _key(manifest: Object, namespace: str) -> ObjectKey:
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        text = "InvalidSpec: metadata.name: must be a name (it is missing)"
        raise RenderError(text, ExitCode.REFUSED)
    return ObjectKey(str(metadata.get("namespace") or namespace), metadata["name"])


def _offline(manifest: Object, stored: dict[ObjectKey, Object], namespace: str) -> PlanForecast:
    namespaced = _with_namespace(manifest, namespace)
    live = stored.get(key_of(namespaced))
    return _compare(live, apply_manifest(live, namespaced) if live else namespaced, namespaced)


async def _live(api: Session, manifest: Object, manager: str) -> PlanForecast:
    namespaced = _with_namespace(manifest, api.namespace)
    try:
        live: Object | None = await api.client.get(CLUSTERS, key_of(namespaced))
    except NotFound:
        live = None
    if live is None or _applies(live, manager):
        result = await api.client.apply(
            CLUSTERS, namespaced, field_manager=manager, force=False, dry_run=True
        )
        return _compare(live, result.object, namespaced)
    desired = await api.client.json_patch(
        CLUSTERS, key_of(live), _operations(live, apply_manifest(live, namespaced)), dry_run=True
    )
    return _compare(live, desired, namespaced)


def _with_namespace(manifest: Object, namespace: str) -> Object:
    key = _key(manifest, namespace)
    metadata = {**manifest["metadata"], "namespace": key.namespace}
    return {**manifest, "metadata": metadata}


def _applies(live: Object, manager: str) -> bool:
    """Whether this manager uses server-side apply for the cluster, and kubectl apply does not."""
    entries = live["metadata"].get("managedFields") or ()
    by_apply = any(
        entry.get("manager") == manager and entry.get("operation") == "Apply" for entry in entries
    )
    return by_apply and not last_applied(live)


def _operations(live: Object, desired: Object) -> Sequence[Mapping[str, object]]:
    changed = {"/spec": desired["spec"]}
    for name in ("labels", "annotations"):
        if name in desired["metadata"]:
            changed[f"/metadata/{name}"] = desired["metadata"][name]
    return (
        *version_precondition(live),
        *({"op": "add", "path": path, "value": value} for path, value in changed.items()),
    )


def _compare(live: Object | None, desired: Object, manifest: Object) -> PlanForecast:
    """Compare the renderings. Raises RenderError if the result cannot be rendered."""
    options = _options(manifest, live)
    after = render_objects(_with_type(desired), options)
    return forecast(live, desired, _render(live, options), after)


def _render(live: Object | None, options: RenderOptions) -> Rendering | None:
    try:
        return render_objects(_with_type(live), options) if live else None
    except RenderError:
        # The stored spec violates a rule of this release, so there is nothing to compare.
        return None


def _with_type(cluster: Object) -> Object:
    return {**cluster, "apiVersion": API_VERSION, "kind": CLUSTER_KIND}


def _options(manifest: Object, live: Object | None) -> RenderOptions:
    initialized = live is not None and (live.get("status") or {}).get("initialized") is True
    return RenderOptions(
        installation_from_environment(),
        key_of(manifest).namespace,
        _HOSTS,
        "running" if initialized else "first-boot",
    )
