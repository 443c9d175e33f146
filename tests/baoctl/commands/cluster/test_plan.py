"""`baoctl plan`: the effects of an edit, as stored by the API server."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from baoctl.cli import main
from baoctl.commands.cluster.difference import differences
from baoctl.commands.cluster.merge import apply_manifest
from contracts.api.group import API_VERSION, CLUSTER_KIND, CLUSTERS
from runtime.client.codec import APPLY_PATCH
from runtime.limits.object_size import LAST_APPLIED
from runtime.testing.api_server.kinds import custom
from runtime.testing.api_server.writes import WriteTarget
from runtime.types import Object, ObjectKey, resource_version_of
from tests.baoctl.command_line import command_line
from tests.baoctl.commands.cluster.bench import world
from tests.baoctl.commands.cluster.recorded_cluster import healthy

KEY = ObjectKey("default", "first")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["a", "b\nc"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "key", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def manifest(**spec: Any) -> Object:
    """The cluster of the recording, as its user wrote it."""
    kept = {name: healthy().cluster["spec"][name] for name in ("version", "profile", "storage")}
    return {
        "apiVersion": API_VERSION,
        "kind": CLUSTER_KIND,
        "metadata": {"name": KEY.name, "namespace": KEY.namespace},
        "spec": {**kept, "replicas": 3, **spec},
    }


def offline(folder: Path, changed: Object, live: Object | None = None) -> Result:
    """Plan against a dump."""
    dump = folder / "dump.yaml"
    dump.write_text(yaml.safe_dump(live or healthy().cluster))
    environ = {"KUBECONFIG": "/nonexistent/config", "KUBERNETES_SERVICE_HOST": None}
    arguments = ["plan", "-f", "-", "--against", str(dump), "-o", "json"]
    return CliRunner().invoke(main, arguments, input=yaml.safe_dump(changed), env=environ)


GREEN = {"upgrade": {"strategy": "BlueGreen"}, "version": "2.8.0"}
# sentence: (fields of the spec, changed objects, effect on the servers, part of a note)
EDITS: dict[str, tuple[dict[str, Any], set[str], list[tuple[str, str]], str]] = {
    "nothing": ({}, set(), [], ""),
    "a log level": (
        {"configuration": {"logLevel": "debug"}},
        {"update ConfigMap first-config"},
        [("reload", "no server restarts; they reload the changed files")],
        "",
    ),
    "a cache size, which is read at the start": (
        {"configuration": {"cacheSize": 1000}},
        {"update ConfigMap first-config"},
        [("restart", "all servers restart, one at a time, the leader last")],
        "",
    ),
    "more servers": (
        {"replicas": 5},
        {"update StatefulSet first", "update Role first-serviceaccount-role"},
        [("scale", "scales from 3 to 5")],
        "",
    ),
    "one server": (
        {"replicas": 1},
        {"update StatefulSet first", "delete PodDisruptionBudget first-pdb"},
        [("scale", "scales from 3 to 1")],
        "",
    ),
    "a version": (
        {"version": "2.8.0"},
        {"update StatefulSet first"},
        [("restart", "all servers restart, one at a time, the leader last")],
        "upgrade plan --cluster default/first --to 2.8.0",
    ),
    "a version with strategy BlueGreen": (
        GREEN,
        {"update StatefulSet first"},
        [("restart", "new servers (green) replace them")],
        "upgrade plan",
    ),
    "read replicas": (
        {"readReplicas": {"replicas": 2}},
        {"create StatefulSet first-read", "create ConfigMap first-config-read"},
        [("start", "2 start")],
        "",
    ),
    "larger volumes": ({"storage": {"size": "128Mi"}}, set(), [], "The volumes grow in place"),
    "a pause": ({"paused": True}, set(), [], "until the cluster is resumed"),
}


@pytest.mark.parametrize(("spec", "objects", "pods", "note"), EDITS.values(), ids=EDITS.keys())
def test_the_plan_of_an_edit(
    tmp_path: Path, spec: dict[str, Any], objects: set[str], pods: list[tuple[str, str]], note: str
) -> None:
    done = offline(tmp_path, manifest(**spec))
    assert done.exit_code == 0, done.output
    (plan,) = json.loads(done.stdout)
    assert plan["verb"] == ("update" if spec else "none")
    assert {change["path"].split(".")[1] for change in plan["spec"]} == set(spec)
    names = {f"{obj['verb']} {obj['kind']} {obj['name']}" for obj in plan["objects"]}
    assert objects <= names
    assert bool(objects) == bool(names)
    assert [(pod["effect"], pod["text"]) for pod in plan["pods"]] == pods
    assert note in " ".join(plan["notes"])
    assert bool(note) == bool(plan["notes"])


def test_the_plan_of_a_new_cluster_creates_all_objects(tmp_path: Path) -> None:
    other = {**manifest(), "metadata": {"name": "second"}}
    (plan,) = json.loads(offline(tmp_path, other).stdout)
    assert (plan["cluster"], plan["verb"]) == ("default/second", "create")
    assert {obj["verb"] for obj in plan["objects"]} == {"create"}
    assert [pod["text"] for pod in plan["pods"]] == [
        "1 starts and initializes the cluster; then 2 more join it"
    ]


def test_a_dump_without_namespaces_is_of_the_default_one(tmp_path: Path) -> None:
    live = manifest()
    live["metadata"].pop("namespace", None)
    done = offline(tmp_path, live, live)
    (plan,) = json.loads(done.stdout)
    assert (plan["cluster"], plan["verb"]) == (f"default/{live['metadata']['name']}", "none")


def test_an_error_of_the_dump_names_it(tmp_path: Path) -> None:
    done = offline(tmp_path, manifest(), {"kind": "Pod", "metadata": {"name": "x"}})
    assert done.exit_code == 5
    assert done.stderr.endswith("in the dump, only Pod\n")


def test_the_text_shows_lines_and_never_more_than_it_must(tmp_path: Path) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_text(yaml.safe_dump(healthy().cluster))
    text = yaml.safe_dump(manifest(configuration={"logLevel": "debug"}))
    done = CliRunner().invoke(main, ["plan", "-f", "-", "--against", str(dump)], input=text)
    assert done.stdout.splitlines() == [
        "OpenBaoCluster default/first would change",
        '  spec.configuration: (not set) -> {"logLevel": "debug"}',
        "",
        "Objects",
        "  ~ ConfigMap first-config",
        "      data.config.hcl:",
        '        - log_level = "info"',
        '        + log_level = "debug"',
        "",
        "Servers",
        "  first: no server restarts; they reload the changed files",
    ]


# sentence: (fields of the spec, part of the error, exit status)
REFUSED: dict[str, tuple[dict[str, Any], str, int]] = {
    "a slip": ({"replica": 5}, "spec.replica (did you mean replicas or readReplicas?)", 4),
    "a rule": ({"storage": {"size": "none"}}, "InvalidSpec", 4),
}


@pytest.mark.parametrize(("spec", "words", "status"), REFUSED.values(), ids=REFUSED.keys())
def test_an_invalid_manifest_is_refused(
    tmp_path: Path, spec: dict[str, Any], words: str, status: int
) -> None:
    done = offline(tmp_path, manifest(**spec))
    assert (done.exit_code, done.stdout) == (status, "")
    assert words in done.stderr


def with_last_applied(last: Object, **spec: Any) -> Object:
    live: Object = copy.deepcopy(healthy().cluster)
    live["spec"] |= spec
    live["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(last)}
    return live


def test_only_fields_of_the_last_applied_manifest_are_removed() -> None:
    live = with_last_applied(
        manifest(configuration={"logLevel": "debug"}),
        configuration={"logLevel": "debug"},
        fencedPods=["first-2"],
    )
    later = apply_manifest(live, manifest())
    assert later["spec"] == {**healthy().cluster["spec"], "fencedPods": ["first-2"]}
    assert later["status"] == live["status"]


@pytest.mark.parametrize("last", ["no JSON", "[1]", '{"kind": "Pod"}'])
def test_an_invalid_last_applied_annotation_removes_nothing(last: str) -> None:
    live = with_last_applied({}, fencedPods=["first-2"])
    live["metadata"]["annotations"][LAST_APPLIED] = last
    assert apply_manifest(live, manifest())["spec"]["fencedPods"] == ["first-2"]


@given(JSON, JSON)
def test_only_different_values_have_differences(one: Any, other: Any) -> None:
    assert list(differences(one, copy.deepcopy(one))) == []
    if _without_null(one) != _without_null(other):
        assert list(differences(one, other))


def _without_null(value: Any) -> Any:
    """Remove nulls, as an API server does."""
    if isinstance(value, dict):
        return {name: _without_null(item) for name, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value


async def test_the_plan_is_a_dry_run_of_the_api_server(tmp_path: Path) -> None:
    server = world()
    before = server.get(CLUSTERS, KEY)
    file, other = tmp_path / "first.yaml", tmp_path / "second.yaml"
    file.write_text(yaml.safe_dump(manifest(replicas=5)))
    other.write_text(yaml.safe_dump({**manifest(), "metadata": {"name": "second"}}))
    async with command_line(server, tmp_path) as baoctl:
        changed = await baoctl("plan", "-f", str(file), "-o", "json")
        created = await baoctl("plan", "-f", str(other), "-o", "json")
    assert (changed.exit_code, created.exit_code) == (0, 0), changed.output + created.output
    (plan,) = json.loads(changed.stdout)
    assert [(change["path"], change["after"]) for change in plan["spec"]] == [("spec.replicas", 5)]
    assert json.loads(created.stdout)[0]["verb"] == "create"
    after = server.get(CLUSTERS, KEY)
    assert before is not None
    assert after is not None
    assert resource_version_of(after) == resource_version_of(before)
    assert server.get(CLUSTERS, ObjectKey("default", "second")) is None


async def test_a_field_of_another_manager_is_a_conflict(tmp_path: Path) -> None:
    server = world()
    target = WriteTarget(custom(CLUSTERS), KEY, query={"fieldManager": "kubectl"})
    server.writes.patch(target, manifest(), APPLY_PATCH)
    file = tmp_path / "first.yaml"
    file.write_text(yaml.safe_dump(manifest(replicas=5)))
    async with command_line(server, tmp_path) as baoctl:
        result = await baoctl("plan", "-f", str(file))
    assert (result.exit_code, "spec.replicas" in result.stderr) == (4, True), result.output
