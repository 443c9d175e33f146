"""One rig on paper: what is saved comes back, and every path is below its folder."""

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
# What a server would write outside the rig if a flag were missing.
_OUTSIDE = re.compile(r"(?<![\w/.-])/(?:var|run|etc|opt|tmp)/[\w/.-]*")


@pytest.mark.parametrize("wanted", [NODE, CONTROL_PLANE], ids=["node", "control plane"])
def test_a_layout_comes_back_as_it_was(wanted: Layout, tmp_path: Path) -> None:
    here = Layout(wanted.name, wanted.slot, RigPaths(tmp_path), wanted.ports)
    assert load(here.name, here.paths) is None
    here.save()
    assert load(here.name, here.paths) == here


def test_a_node_is_entered_and_a_control_plane_is_not() -> None:
    assert NODE.inside("true") == ["nsenter", "--net=/cache/rigs/demo/netns", "true"]
    assert CONTROL_PLANE.inside("true") == ["true"]
    assert NODE.server == "https://10.213.2.2:6443"
    assert CONTROL_PLANE.server == "https://127.0.0.1:21010"


def test_no_two_listeners_of_a_control_plane_share_a_port() -> None:
    urls = {CONTROL_PLANE.server, CONTROL_PLANE.etcd, CONTROL_PLANE.etcd_peer}
    assert {url.rsplit(":", 1)[1] for url in urls} == {"21010", "21011", "21012"}


@pytest.mark.parametrize("layout", [NODE, CONTROL_PLANE], ids=["node", "control plane"])
def test_every_component_has_a_command_that_stays_inside_the_folder(layout: Layout) -> None:
    for name in components.names(layout):
        command = components.command(layout, name)
        # The interpreter lies wherever the checkout does.
        argv = [part for part in command.argv if part != sys.executable]
        assert _OUTSIDE.findall(" ".join(argv)) == []
        assert command.environment["TMPDIR"] == str(layout.paths.tmp)


def test_the_configuration_files_stay_inside_the_folder() -> None:
    texts = [configs.containerd(NODE), configs.kubelet(NODE), configs.corefile(NODE)]
    texts.append(configs.pod_network(NODE).decode())
    for text in texts:
        assert _OUTSIDE.findall(text) == []


def test_pods_of_a_rig_have_a_cgroup_of_their_own() -> None:
    other = Layout("other", Slot(3), RigPaths(Path("/cache/rigs/other")))
    assert "cgroupRoot: /openbao-rig-demo\n" in configs.kubelet(NODE)
    assert "cgroupRoot: /openbao-rig-other\n" in configs.kubelet(other)


def test_a_kubeconfig_is_json_with_everything_in_it(tmp_path: Path) -> None:
    layout = Layout("demo", Slot(0), RigPaths(tmp_path))
    make(layout.paths.pki, {"admin": Subject("admin", ("system:masters",))})
    document = orjson.loads(configs.kubeconfig(layout, "admin"))
    assert document["clusters"][0]["cluster"]["server"] == layout.server
    assert document["current-context"] == document["contexts"][0]["name"]


def test_a_port_in_use_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert port not in free_ports(range(port, port + 20), 3)
        with pytest.raises(RigError, match="free ports"):
            free_ports(range(port, port + 1), 1)


def test_too_deep_a_folder_is_refused_with_a_way_out(tmp_path: Path) -> None:
    RigPaths(Path("/short")).check()
    with pytest.raises(RigError, match="OPENBAO_RIG_CACHE"):
        RigPaths(tmp_path / ("x" * 100)).check()


CACHES = {
    "its own variable wins": ({"OPENBAO_RIG_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, "/a"),
    "then the cache folder of the user": ({"XDG_CACHE_HOME": "/b"}, "/b/openbao-operator"),
    "then the default": ({"HOME": "/h"}, "/h/.cache/openbao-operator"),
}


@pytest.mark.parametrize("case", CACHES)
def test_cache_root(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, expected = CACHES[case]
    for name in ("OPENBAO_RIG_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Cache(cache_root()).root == Path(expected)


def test_an_atomic_write_leaves_the_mode_and_no_second_file(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    write_atomically(target, "one", mode=0o600)
    write_atomically(target, b"two", mode=0o600)
    assert target.read_bytes() == b"two"
    assert target.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [target]
