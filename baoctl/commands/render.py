"""`baoctl render`: the objects that the operator would create for a manifest, without a cluster.

Pure. It prints no Secrets; comments name them. Called by baoctl.verbs.render.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from baoctl.commands.assumed import Phase, RenderOptions
from baoctl.commands.rendering import Rendering, clusters_of, render_objects
from contracts.api.group import CLUSTER_KIND
from contracts.naming import names
from contracts.records.resolved import Resolved
from runtime.outcome import Blocked
from runtime.types import Object

HEADER = "# Objects of {kind} {namespace}/{name}, {phase}.\n"
_LEADING = ("apiVersion", "kind", "metadata")


class _Dumper(yaml.SafeDumper):
    """Writes no aliases, and strings of several lines as block scalars."""

    def ignore_aliases(self, data: object) -> bool:
        """Ignore all aliases."""
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def render(text: str | bytes, options: RenderOptions) -> str:
    """Return the objects of all clusters in a YAML text; the output is deterministic.

    Raises RenderError if a manifest cannot be read or violates a rule.
    """
    return "".join(_cluster(cluster, options) for cluster in clusters_of(text))


def _cluster(manifest: Object, options: RenderOptions) -> str:
    return "".join(_documents(render_objects(manifest, options), options.phase))


def _documents(rendered: Rendering, phase: Phase) -> Iterator[str]:
    resolved = rendered.resolved
    yield HEADER.format(
        kind=CLUSTER_KIND, namespace=resolved.namespace, name=resolved.name, phase=phase
    )
    yield from _comments(rendered)
    for intent in rendered.intents:
        yield "---\n"
        yield _yaml(intent.body)


def _comments(rendered: Rendering) -> Iterator[str]:
    yield "# Not printed, because the operator generates the content:\n"
    for name in rendered.secrets:
        yield f"#   Secret {name}: {_origin(rendered.resolved, name)}\n"
    yield (
        "# openbao.org/reload-hash depends on the server certificate, and the addresses of the\n"
        "# API server are those of --api-server-host; both differ in a cluster.\n"
    )
    for outcome in rendered.outcomes:
        if isinstance(outcome, Blocked):
            yield f"# The pods would wait: {outcome.reason}: {outcome.message}\n"


def _origin(resolved: Resolved, name: str) -> str:
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
        return f"created by you, with the keys {supplied[name]}"
    if name in generated:
        return f"created by the operator, with the keys {generated[name]}"
    if name == resolved.unseal.spec.secret_name:
        return "created by you, with the keys that spec.unseal names"
    if name in (resolved.tls.acme_ca_secret, resolved.tls.issuer_secret):
        return "created by you, with the CA certificates for spec.tls.acme.caSecretRef"
    return "created by the operator, with an unseal key that it generates once"


def _yaml(body: Object) -> str:
    ordered = {key: body[key] for key in _LEADING if key in body}
    ordered |= {key: value for key, value in sorted(body.items()) if key not in ordered}
    text: Any = yaml.dump(ordered, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    return str(text)
