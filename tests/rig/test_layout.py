"""The layout of a rig: it can be saved and loaded, and every path is in its folder."""

import re
import socket
import sys
from pathlib import Path

import orjson
import pytest

from e2e.rig import components, configs
from e2e.rig.errors import RigError
from e2e.rig.layout import Layout, free_ports, load
from e2e.rig.paths import Cache, RigPaths, cache_root, write_atomically
from e2e.rig.pki import Subject, make
from e2e.rig.slots import Slot

NODE = Layout("demo", Slot(2), RigPaths(Path("/cache/rigs/demo")))
CONTROL_PLANE = Layout("cp", Slot(1), RigPaths(Path("/cache/rigs/cp")), (21010, 21011, 21012))
# Paths that a server would write to outside of the rig if a flag were missing.
_OUTSIDE = re.compile(r"(?<![\w/.-])/(?:var|run|etc|opt|tmp)/[\w/.-]*")


@pytest.mark.parametrize("wanted", [NODE, CONTROL_PLANE], ids=["node", "control plane"])
def test_a_saved_layout_is_loaded_unchanged(wanted: Layout, tmp_path: Path) -> None:
    here = Layout(wanted.name, wanted.slot, RigPaths(tmp_path), wanted.ports)
    assert load(here.name, here.paths) is None
    here.save()
    assert load(here.name, here.paths) == here


def test_only_a_node_has_a_network_namespace() -> None:
    assert NODE.inside("true") == ["nsenter", "--net=/cache/rigs/demo/netns", "true"]
    assert CONTROL_PLANE.inside("true") == ["true"]
    assert NODE.server == "https://10.213.2.2:6443"
    assert CONTROL_PLANE.server == "https://127.0.0.1:21010"


def test_no_two_listeners_of_a_control_plane_share_a_port() -> None:
    urls = {CONTROL_PLANE.server, CONTROL_PLANE.etcd, CONTROL_PLANE.etcd_peer}
    assert {url.rsplit(":", 1)[1] for url in urls} == {"21010", "21011", "21012"}


@pytest.mark.parametrize("layout", [NODE, CONTROL_PLANE], ids=["node", "control plane"])
def test_every_command_uses_paths_in_the_folder_of_the_rig(layout: Layout) -> None:
    for name in components.names(layout):
        command = components.command(layout, name)
        # The interpreter is in the checkout.
        argv = [part for part in command.argv if part != sys.executable]
        assert _OUTSIDE.findall(" ".join(argv)) == []
        assert command.environment["TMPDIR"] == str(layout.paths.tmp)


def test_configuration_files_use_paths_in_the_folder_of_the_rig() -> None:
    texts = [configs.containerd(NODE), configs.kubelet(NODE), configs.corefile(NODE)]
    texts.append(configs.pod_network(NODE).decode())
    for text in texts:
        assert _OUTSIDE.findall(text) == []


def test_each_rig_has_its_own_cgroup_for_pods() -> None:
    other = Layout("other", Slot(3), RigPaths(Path("/cache/rigs/other")))
    assert "cgroupRoot: /openbao-rig-demo\n" in configs.kubelet(NODE)
    assert "cgroupRoot: /openbao-rig-other\n" in configs.kubelet(other)


def test_a_kubeconfig_is_self_contained_json(tmp_path: Path) -> None:
    layout = Layout("demo", Slot(0), RigPaths(tmp_path))
    make(layout.paths.pki, {"admin": Subject("admin", ("system:masters",))})
    document = orjson.loads(configs.kubeconfig(layout, "admin"))
    assert document["clusters"][0]["cluster"]["server"] == layout.server
    assert document["current-context"] == document["contexts"][0]["name"]


def test_a_port_in_use_is_skipped() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port not in free_ports(range(port, port + 20), 3)
        with pytest.raises(RigError, match="free ports"):
            free_ports(range(port, port + 1), 1)


def test_a_path_that_is_too_long_is_refused_with_a_next_step(tmp_path: Path) -> None:
    RigPaths(Path("/short")).check()
    with pytest.raises(RigError, match="OPENBAO_RIG_CACHE"):
        RigPaths(tmp_path / ("x" * 100)).check()


CACHES = {
    "its own variable": ({"OPENBAO_RIG_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
    "the cache folder of the user": ({"XDG_CACHE_HOME": "/b"}, "/b/openbao-operator"),
    "the default": ({"HOME": "/h"}, "/h/.cache/openbao-operator"),
}


@pytest.mark.parametrize("case", CACHES)
def test_cache_root(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, expected = CACHES[case]
    for name in ("OPENBAO_RIG_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Cache(cache_root()).root == Path(expected)


def test_an_atomic_write_sets_the_mode_and_leaves_no_temporary_file(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    write_atomically(target, "one", mode=0o600)
    write_atomically(target, b"two", mode=0o600)
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [target]
