"""baoctl.commands.render.

What is printed is what the controller would make, and the same each time.
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
def test_the_quickstart_is_the_golden_one(phase: str) -> None:
    """UPDATE_GOLDEN=1 writes it anew; read the difference before it is committed."""
    done = render_output("--phase", phase, "-f", str(SAMPLE))
    assert done.exit_code == 0, done.output
    file = GOLDEN / f"quickstart-{phase}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(done.output, encoding="utf-8")
    assert done.output == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("phase", PHASES)
def test_every_object_is_there_in_the_order_of_the_apply(phase: str) -> None:
    done = render_output("--phase", phase, "-f", str(SAMPLE))
    assert [obj["kind"] for obj in objects(done.output)] == KINDS[phase]


def test_it_is_what_the_controller_plans_for_a_cluster_that_runs() -> None:
    """The same functions, with what a cluster really tells in the place of what is imagined."""
    cluster = gen.cluster().initialized()
    # A manifest does not tell what is behind the address of the API server.
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
    # The StatefulSet in `there` is of an operator that did not write this annotation yet.
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


def test_nothing_secret_is_printed_and_what_is_missing_is_named() -> None:
    done = render_output("-f", "-", text=manifest())
    assert not [obj for obj in objects(done.output) if obj["kind"] == "Secret"]
    for name in ("x-tls-ca", "x-tls-server", "x-unseal-key", "x-root-token"):
        assert f"Secret {name}: created by the operator" in done.output
    assert UNKNOWN not in "".join(
        line for line in done.output.splitlines() if not line.startswith("#")
    )


def test_several_clusters_come_one_after_the_other() -> None:
    both = f"{manifest()}---\nkind: ConfigMap\n---\n{yaml.safe_dump(gen.cluster('y').object())}"
    done = render_output("-f", "-", text=both)
    names = {obj["metadata"]["name"] for obj in objects(done.output)}
    assert {"x-config", "y-config"} <= names


def test_clusters_in_a_list_are_rendered() -> None:
    both = {"kind": "List", "items": [yaml.safe_load(manifest()), gen.cluster("y").object()]}
    done = render_output("-f", "-", text=yaml.dump(both))
    names = {obj["metadata"]["name"] for obj in objects(done.output)}
    assert {"x-config", "y-config"} <= names


# sentence: (text, word of the message)
REFUSED: dict[str, tuple[str, str]] = {
    "a number between quotes": (
        manifest(replicas="3"),
        "spec.replicas: must be a whole number; remove the quotes (got 3)",
    ),
    "a rule is broken": (manifest(replicas=3, storage={"size": "none"}), "InvalidSpec"),
    "a field has another type": (manifest(replicas="many"), "spec.replicas"),
    "two names disagree": (manifest(image="example.com/bao:1.0.0"), "ImageVersionMismatch"),
    "a field is a slip": (manifest(replica=5), "spec.replica (did you mean replicas"),
    "a field in a list is a slip": (
        manifest(selfInit={"requests": [{"nmae": "a"}]}),
        "selfInit.requests[0]",
    ),
    "a version is no version": (manifest(version="banana"), "MAJOR.MINOR.PATCH, as in 2.7.2"),
    "its name cannot be": (yaml.safe_dump(gen.cluster("Not_A_Name").object() | {}), "name"),
}


@pytest.mark.parametrize(("text", "word"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_rendered_is_said_as_a_condition_would(text: str, word: str) -> None:
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
def test_a_hardened_cluster_with_everything_from_outside_is_printed_whole(
    phase: str, tmp_path: Path
) -> None:
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
