"""The templates from the objects of overlays, and objects that are refused."""

import copy
from typing import Any

import pytest

from release.chart.objects import UnknownPartError, templates
from release.manifests import MODES

HOME = "openbao-operator-system"
ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}


def deployment(name: str = "openbao-operator", **variables: str) -> dict[str, Any]:
    environment = [{"name": item, "value": text} for item, text in variables.items()]
    container = {"name": "operator", "image": "x", "env": environment, "resources": {}}
    pod = {"template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": HOME},
        "spec": {"replicas": 2, **pod},
    }


def templates_of(first: Any, *, others: Any = None) -> dict[str, str]:
    """The templates of an object that the first mode has, and of one that the others have."""
    overlays = {mode: [other for other in [others] if other] for mode in MODES}
    return dict(templates({**overlays, MODES[0]: [first]}, {}))


def test_an_object_of_some_modes_has_a_condition() -> None:
    (text,) = templates_of(ACCOUNT).values()
    assert text.startswith('{{- if has .Values.mode (list "cluster-wide") }}\n---\n')
    assert text.endswith("{{- end }}\n")


def test_an_object_of_all_modes_has_no_condition() -> None:
    assert templates_of(ACCOUNT, others=ACCOUNT)["serviceaccount-a.yaml"].startswith(
        "---\napiVersion"
    )


def test_an_object_that_differs_by_mode_has_a_document_per_content() -> None:
    other = {**ACCOUNT, "automountServiceAccountToken": False}
    (text,) = templates_of(ACCOUNT, others=other).values()
    assert text.count("---\n") == 2


def test_variables_of_a_mode_have_a_condition() -> None:
    (text,) = templates_of(deployment(A="1", B="2"), others=deployment(A="1")).values()
    assert "    - name: A\n          value: '1'\n{{- if" in text
    assert "(list \"cluster-wide\") }}\n        - name: B\n          value: '2'\n{{- end }}" in text


def test_another_difference_between_pods_is_refused() -> None:
    other = copy.deepcopy(deployment())
    other["spec"]["template"]["spec"]["hostNetwork"] = True
    with pytest.raises(UnknownPartError, match="openbao-operator differs between modes"):
        templates_of(deployment(), others=other)


def test_a_deployment_without_values_is_refused() -> None:
    with pytest.raises(UnknownPartError, match="no values for Deployment webhook"):
        templates_of(deployment("webhook"))


def test_a_namespace_within_a_string_is_refused() -> None:
    with pytest.raises(UnknownPartError, match="part of a text"):
        templates_of({**ACCOUNT, "host": f"x.{HOME}.svc"})


def test_annotations_of_a_crd_are_refused() -> None:
    metadata = {"name": "x.y", "annotations": {"a": "b"}}
    definition = {"kind": "CustomResourceDefinition", "metadata": metadata}
    with pytest.raises(UnknownPartError, match=r"x\.y has annotations"):
        templates_of(definition)


def test_an_object_in_an_overlay_and_an_option_is_refused() -> None:
    with pytest.raises(UnknownPartError, match="an overlay and an option"):
        templates({mode: [ACCOUNT] for mode in MODES}, {".Values.x": [ACCOUNT]})
