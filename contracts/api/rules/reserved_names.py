"""Rules about names reserved for the operator: its metadata, and variables of the server.

Uses contracts.naming.labels, contracts.api.values.field_path and the API models. Collected by
contracts.api.rules.cluster. A label of ours is trusted from any writer, so no user may request
one.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule
from contracts.api.values.field_path import values_at
from contracts.api.values.pattern import Pattern
from contracts.naming import labels

Old = OpenBaoCluster | None

_BEGINNINGS = "|".join(labels.RESERVED).replace(".", r"\.")
RESERVED_KEY = Pattern(f"^({_BEGINNINGS})")
_FAMILIES = ("LD_", "BAO_", "VAULT_", "KUBERNETES_", "PYTHON")
_VARIABLES = ("GODEBUG", "GOTRACEBACK", "HOME", "PATH")
_BEGINNINGS_OF_VARIABLES = (*_FAMILIES, *(f"{name}=" for name in _VARIABLES))
RESERVED_VARIABLE = Pattern(f"^({'|'.join(_FAMILIES)}|({'|'.join(_VARIABLES)})$)")
"""What starts other code in a process, or what the server and Kubernetes read themselves."""
CLOUD_VARIABLE = Pattern(r"^(AWS_|AZURE_|GOOGLE_)")
"""By which identity a process talks to a cloud."""

METADATA = (
    "spec.podMetadata.labels",
    "spec.podMetadata.annotations",
    "spec.readReplicas.template.metadata.labels",
    "spec.readReplicas.template.metadata.annotations",
    "spec.readReplicas.service.annotations",
    "spec.serviceAccount.annotations",
    "spec.service.annotations",
    "spec.ingress.annotations",
    "spec.gateway.annotations",
    "spec.observability.metrics.serviceMonitor.labels",
    "spec.observability.metrics.serviceMonitor.annotations",
    "spec.backup.target.workloadIdentity.serviceAccountAnnotations",
    "spec.backup.target.workloadIdentity.podLabels",
)
"""Maps of a spec that become labels or annotations of an object of ours."""
_PLUGINS = "spec.plugins[].env"


def _reserved_keys(path: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        for field, keys in values_at(new.spec, path.removeprefix("spec.")):
            yield from ((f"spec.{field}", key) for key in keys or () if RESERVED_KEY.found_in(key))

    return broken


def _metadata_rule(path: str) -> Rule:
    return Rule(
        id=f"reserved-{path.removeprefix('spec.')}",
        at=path,
        field=path,
        message=(
            "must not hold keys that start with openbao.org/ or openbao-, which are marks of the "
            "operator and of the servers; remove them"
        ),
        broken=_reserved_keys(path),
        cel=f"self.all(key, !{RESERVED_KEY.cel('key')})",
        got=f"self.filter(key, {RESERVED_KEY.cel('key')})[0]",
        reason="FieldValueForbidden",
    )


def _plugin_variables(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for position, plugin in enumerate(new.spec.plugins):
        for number, variable in enumerate(plugin.env):
            name = variable.partition("=")[0]
            if RESERVED_VARIABLE.found_in(name):
                yield f"spec.plugins[{position}].env[{number}]", name


RESERVED_RULES: tuple[Rule, ...] = (
    *map(_metadata_rule, METADATA),
    Rule(
        id="plugin-variable",
        at=f"{_PLUGINS}[]",
        field=f"{_PLUGINS}[]",
        message=(
            "must not set variables that start with LD_, BAO_, VAULT_, KUBERNETES_ or PYTHON, nor "
            "HOME, PATH, GODEBUG or GOTRACEBACK: they would start other code, or are the server's "
            "own; remove it"
        ),
        broken=_plugin_variables,
        # Not by a pattern: a value may be long, and the API server counts its length.
        cel=" && ".join(f"!self.startsWith('{name}')" for name in _BEGINNINGS_OF_VARIABLES),
        reason="FieldValueForbidden",
    ),
)
