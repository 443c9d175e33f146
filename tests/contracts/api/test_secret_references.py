"""No reference in a spec may name a Secret of the operator."""

import copy
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.meta import ApiModel, LocalReference
from contracts.api.rules.cluster import violations
from contracts.api.values.field_path import values_at
from contracts.naming.names import SYSTEM_SECRET_SUFFIXES
from tests.contracts.api.clusters import MANIFESTS, Object
from tests.contracts.api.secret_references import REFERENCES, references

REFUSED = "must not name a Secret of the operator"


def _fields(kind: Any) -> Iterator[tuple[type[ApiModel], str, Any]]:
    if isinstance(kind, type) and issubclass(kind, ApiModel):
        for name, field in kind.model_fields.items():
            yield kind, name, field.annotation
            yield from _fields(field.annotation)
    for part in get_args(kind):
        yield from _fields(part)


def _kinds(kind: Any) -> Iterator[Any]:
    yield kind
    for part in get_args(kind):
        yield from _kinds(part)


def test_the_walk_finds_references_at_every_depth() -> None:
    assert "imagePullSecrets[].name" in REFERENCES
    assert "unseal.credentialsSecretRef.name" in REFERENCES
    assert "ingress.tlsSecretName" in REFERENCES
    assert len(REFERENCES) >= 16


def test_every_secret_reference_has_the_type_of_one() -> None:
    """No plain reference of an unknown kind, and no string field named after a Secret."""
    # These are not names of Secrets: a key in one, a secret value, and an engine of OpenBao.
    others = {"secret_key", "client_secret", "secret_engine"}
    for model, name, annotation in _fields(ClusterSpec):
        assert LocalReference not in set(_kinds(annotation)), f"{model.__name__}.{name}"
        if "secret" not in name or name in others:
            continue
        paths = list(references(annotation, name, tuple(model.model_fields[name].metadata)))
        assert paths, f"{model.__name__}.{name}"


def _manifest_with_reference(path: str, secret: str) -> Object:
    """A manifest that uses the reference at a path, made to name that Secret."""
    for manifest in MANIFESTS.values():
        spec = OpenBaoCluster.from_object(manifest).spec
        values = [place for place, value in values_at(spec, path) if value is not None]
        if values:
            changed = copy.deepcopy(manifest)
            holder: Any = changed["spec"]
            *steps, last = re.findall(r"[^.\[\]]+", values[0])
            for step in steps:
                holder = holder[int(step) if step.isdigit() else step]
            holder[last] = secret
            return changed
    raise LookupError(f"no manifest uses {path}")


@pytest.mark.parametrize("suffix", SYSTEM_SECRET_SUFFIXES)
@pytest.mark.parametrize("path", REFERENCES)
def test_attack_t05_no_reference_names_a_secret_of_the_operator(path: str, suffix: str) -> None:
    rule_violations = violations(
        OpenBaoCluster.from_object(_manifest_with_reference(path, f"other{suffix}"))
    )
    results = [violation for violation in rule_violations if REFUSED in violation.message]
    assert len(results) == 1
    assert re.sub(r"\[\d+\]", "[]", results[0].field) == f"spec.{path}"
    assert results[0].value == f"other{suffix}"


@pytest.mark.parametrize("path", REFERENCES)
def test_a_secret_of_the_user_is_accepted(path: str) -> None:
    assert (
        violations(OpenBaoCluster.from_object(_manifest_with_reference(path, "tls-server-of-mine")))
        == ()
    )
