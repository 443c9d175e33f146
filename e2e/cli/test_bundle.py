"""`kubectl bao bundle` of a real cluster: complete, and without any secret."""

import base64
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import labels
from e2e.conftest import MakeNamespace
from e2e.harness.clusters import Cluster
from e2e.harness.command_line import Answer, CommandLine
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import client_login, key_value_engine, self_init
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from runtime.builtin_kinds import CONFIG_MAP, SECRET

NAME, MAP = "first", "notes"
TOKEN = "hvs." + "CAESIJ" * 6
WORD = "correct-horse-battery"


@pytest.fixture(scope="module")
def cluster(api: Api, make_namespace: MakeNamespace, operator: Operator) -> Cluster:
    """One server."""
    namespace = make_namespace()
    requests = (key_value_engine(), *client_login(namespace))
    api.create(CLUSTERS, manifest(namespace, NAME, selfInit=self_init(*requests)))
    cluster = Cluster(api, namespace, NAME)
    cluster.await_available()
    return cluster


def bundle(cluster: Cluster, file: Path, *words: str) -> Answer:
    verb = ("bundle", NAME, "-n", cluster.namespace, "-f", str(file), *words)
    return CommandLine(cluster.api.rig).run(*verb)


def files_of(path: Path) -> dict[str, str]:
    with tarfile.open(path) as tar:
        return {
            entry.name.partition("/")[2]: file.read().decode()
            for entry in tar
            if (file := tar.extractfile(entry))
        }


def test_a_bundle_of_a_real_cluster_needs_no_redaction(cluster: Cluster, tmp_path: Path) -> None:
    target = tmp_path / "bundle.tar.gz"
    done = bundle(cluster, target)
    assert done.status == 0, done.err
    files = files_of(target)
    assert f"objects/pod/{NAME}-0.json" in files
    assert "OpenBao" in files[f"logs/{NAME}-0.openbao.log"]
    assert "raft" in files[f"configmaps/{NAME}-config/config.hcl"]
    assert json.loads(files["versions.json"])["kubernetes"].startswith("v1.")
    assert json.loads(files["events.json"])
    manifest_: dict[str, Any] = json.loads(files["MANIFEST.json"])
    assert {file["name"] for file in manifest_["files"]} == set(files) - {"MANIFEST.json"}
    everything = "".join(files.values())
    for secret in cluster.api.list(SECRET, cluster.namespace):
        for value in (secret.get("data") or {}).values():
            for text in (value, base64.b64decode(value).decode(errors="replace")):
                # A certificate is not a secret; it is in other objects too.
                assert "CERTIFICATE" in text or "LS0t" in text[:4] or text not in everything


def test_a_token_in_a_config_map_is_refused_and_redacted(
    cluster: Cluster, api: Api, tmp_path: Path
) -> None:
    metadata = {
        "name": MAP, "namespace": cluster.namespace, "labels": {labels.CLUSTER: NAME},
    }  # fmt: skip
    data = {
        "README": f"see\nbao login {TOKEN}\n",
        "app.conf": f'password="{WORD}"\n',
    }
    api.create(CONFIG_MAP, {"metadata": metadata, "data": data})
    target = tmp_path / "bundle.tar.gz"
    refused = bundle(cluster, target)
    assert refused.status == 4
    assert refused.err.count("\n") == 1
    assert f"configmaps/{MAP}/README line 2 (OpenBao token)" in refused.err
    assert f"configmaps/{MAP}/app.conf line 1" in refused.err
    assert TOKEN not in refused.err
    assert WORD not in refused.err
    assert list(tmp_path.iterdir()) == []

    written = bundle(cluster, target, "--redact")
    assert written.status == 0, written.err
    files = files_of(target)
    everything = "".join(files.values())
    assert TOKEN not in everything
    assert WORD not in everything
    assert files[f"configmaps/{MAP}/README"] == "see\nbao login [redacted]\n"
    listed = json.loads(files["MANIFEST.json"])["redacted"]
    assert {(redaction["file"], redaction["line"]) for redaction in listed} == {
        (f"configmaps/{MAP}/README", 2), (f"configmaps/{MAP}/app.conf", 1),
    }  # fmt: skip
