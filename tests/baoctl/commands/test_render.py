"""baoctl.commands.render.

The output is what the controller would apply, and is reproducible.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from baoctl.commands.assumed import UNKNOWN, Phase
from managers.cluster.plan.steps import merge_plans
from tests import gen
from tests.baoctl.commands.render_calls import GOLDEN, manifest, objects, render_output
from tests.house.checkout import ROOT

SAMPLE = ROOT / "config" / "samples" / "quickstart.yaml"
PHASES = get_args(Phase)

KINDS = {
    "running": [
        "ConfigMap", "Service", "Service", "Service", "NetworkPolicy", "NetworkPolicy",
        "ServiceAccount", "Role", "RoleBinding", "ServiceAccount", "StatefulSet",
        "PodDisruptionBudget",
    ]
}  # fmt: skip
KINDS["first-boot"] = ["ConfigMap", *KINDS["running"]]


@pytest.mark.parametrize("phase", PHASES)
def test_the_quickstart_matches_the_golden_file(phase: str) -> None:
    """UPDATE_GOLDEN=1 rewrites it; read the difference before you commit it."""
    done = render_output("--phase", phase, "-f", str(SAMPLE))
    assert done.exit_code == 0, done.output
    file = GOLDEN / f"quickstart-{phase}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(done.output, encoding="utf-8")
    assert done.output == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("phase", PHASES)
def test_all_objects_are_printed_in_the_order_of_the_apply(phase: str) -> None:
    done = render_output("--phase", phase, "-f", str(SAMPLE))
    assert [obj["kind"] for obj in objects(done.output)] == KINDS[phase]


def test_the_output_equals_the_plan_of_the_controller() -> None:
    """The same functions, with the state of a cluster instead of assumed values."""
    cluster = gen.cluster().initialized()
    # A manifest does not contain the endpoints of the API server.
    there = gen.running(cluster).reaching("10.96.0.1")
    meant = gen.resolved(cluster, there)
    planned = [intent.body for intent in merge_plans(meant, there.facts()).intents]
    done = render_output(
        *("--operator-namespace", gen.INSTALLATION.namespace),
        *("--image-repository", gen.INSTALLATION.image_repository),
        *("-f", "-"),
        text=yaml.safe_dump(cluster.object()),
    )
    shown = objects(done.output)
    # The StatefulSet in `there` was written by an operator without this annotation.
    (created,) = [body["metadata"] for body in shown if body["kind"] == "StatefulSet"]
    assert created.pop("annotations").keys() == {"openbao.org/creation-hash"}
    for body in (*planned, *shown):
        for annotations in annotations_of(body):
            annotations.pop("openbao.org/reload-hash", None)
    assert shown == planned


def annotations_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    template = (body.get("spec") or {}).get("template")
    if template:
        yield template["metadata"]["annotations"]


def test_secrets_are_listed_in_comments_and_not_printed() -> None:
    done = render_output("-f", "-", text=manifest())
    assert not [obj for obj in objects(done.output) if obj["kind"] == "Secret"]
    for name in ("x-tls-ca", "x-tls-server", "x-unseal-key", "x-root-token"):
        assert f"Secret {name}: created by the operator" in done.output
    assert UNKNOWN not in "".join(
        line for line in done.output.splitlines() if not line.startswith("#")
    )


def test_several_clusters_are_rendered() -> None:
    both = f"{manifest()}---\nkind: ConfigMap\n---\n{yaml.safe_dump(gen.cluster('y').object())}"
    done = render_output("-f", "-", text=both)
    names = {obj["metadata"]["name"] for obj in objects(done.output)}
    assert {"x-config", "y-config"} <= names


def test_clusters_in_a_list_are_rendered() -> None:
    both = {"kind": "List", "items": [yaml.safe_load(manifest()), gen.cluster("y").object()]}
    done = render_output("-f", "-", text=yaml.dump(both))
    names = {obj["metadata"]["name"] for obj in objects(done.output)}
    assert {"x-config", "y-config"} <= names


# sentence: (text, part of the message)
REFUSED: dict[str, tuple[str, str]] = {
    "a number between quotes": (
        manifest(replicas="3"),
        "spec.replicas: must be a whole number; remove the quotes (got 3)",
    ),
    "a violated rule": (manifest(replicas=3, storage={"size": "none"}), "InvalidSpec"),
    "a field of another type": (manifest(replicas="many"), "spec.replicas"),
    "contradicting names": (manifest(image="example.com/bao:1.0.0"), "ImageVersionMismatch"),
    "a misspelled field": (manifest(replica=5), "spec.replica (did you mean replicas"),
    "a misspelled field in a list": (
        manifest(selfInit={"requests": [{"nmae": "a"}]}),
        "selfInit.requests[0]",
    ),
    "an invalid version": (manifest(version="banana"), "MAJOR.MINOR.PATCH, as in 2.7.2"),
    "an invalid name": (yaml.safe_dump(gen.cluster("Not_A_Name").object() | {}), "name"),
}


@pytest.mark.parametrize(("text", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_cluster_is_refused_with_the_message_of_the_condition(
    text: str, word: str
) -> None:
    done = render_output("-f", "-", text=text)
    assert (done.exit_code, done.stdout) == (4, "")
    assert word in done.stderr


# sentence: (text, end of the error)
WITHOUT_CLUSTER: dict[str, tuple[str, str]] = {
    "nothing": ("# nothing", "in the manifest, which has no objects\n"),
    "other kinds": (
        "kind: Job\n---\nkind: Pod\n---\nkind: Job",
        "in the manifest, only Job, Pod\n",
    ),
    "a typo": (
        manifest().replace("kind: OpenBaoCluster", "kind: openbaocluster"),
        "only openbaocluster; did you mean OpenBaoCluster?\n",
    ),
}


@pytest.mark.parametrize(("text", "words"), WITHOUT_CLUSTER.values(), ids=WITHOUT_CLUSTER.keys())
def test_a_manifest_without_a_cluster_is_described(text: str, words: str) -> None:
    done = render_output("-f", "-", text=text)
    assert (done.exit_code, done.stdout) == (5, "")
    assert done.stderr.endswith(words)


@pytest.mark.parametrize("phase", PHASES)
def test_a_hardened_cluster_with_external_services_is_rendered(phase: str, tmp_path: Path) -> None:
    text = manifest(
        profile="Hardened",
        tls={"mode": "External"},
        unseal={
            "type": "awskms",
            "awskms": {"region": "eu-west-1", "kmsKeyID": "alias/x"},
            "credentialsSecretRef": {"name": "aws"},
        },
        selfInit={"enabled": True, "oidc": {"enabled": True}, "requests": [gen.clusters.REQUEST]},
    )
    file = tmp_path / "cluster.yaml"
    file.write_text(text, encoding="utf-8")
    done = render_output("--phase", phase, "-f", str(file))
    assert done.exit_code == 0, done.output
    assert [obj["kind"] for obj in objects(done.output)] == KINDS[phase]
    assert "Secret aws: created by you" in done.output
    assert "Secret x-tls-server: created by you" in done.output
    assert "would wait" not in done.output
