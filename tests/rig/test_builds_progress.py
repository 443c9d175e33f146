"""The groups of a build, the remaining time, and the folders of the binaries."""

from dataclasses import replace
from pathlib import Path

import pytest

from e2e.rig import builds, versions
from e2e.rig.builds import groups, remaining
from e2e.rig.paths import Cache
from e2e.rig.versions import Server

ONE = Server("one", "m", "example.com/cmd/one", "-X a=1", cost=100)
TWO = Server("two", "m", "example.com/cmd/two", "-X a=1", cost=50)
OTHER = Server("other", "n", "example.com/other/v3", cost=30)

# A fake go: each call is a line of the file $CALLS, each binary contains its package.
FAKE_GO = """\
#!/bin/sh
if [ "$1" = env ]; then echo go1.26.8 linux amd64; exit; fi
echo "$*" >> "$CALLS"
while [ "$1" != -o ]; do shift; done
output=$2; shift 2
for package; do
    case $output in
    */) echo "$package" > "$output${package##*/}" ;;
    *) echo "$package" > "$output" ;;
    esac
done
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file to which the fake go writes its calls; creates the modules `m` and `n`."""
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    for module in "mn":
        (tmp_path / "tools" / module).mkdir(parents=True)
    monkeypatch.setattr(builds, "TOOLS", tmp_path / "tools")
    monkeypatch.setenv("PATH", str(go.parent))
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    return tmp_path / "calls"


def test_servers_with_equal_module_and_flags_are_built_together() -> None:
    assert groups([ONE, OTHER, TWO]) == [[ONE, TWO], [OTHER]]


@pytest.mark.parametrize(
    "other",
    [
        replace(TWO, module="n"),
        replace(TWO, stamps="-X a=2"),
        replace(TWO, tags="hsm"),
        replace(TWO, cgo=True),
        replace(TWO, nosumdb="example.com/*"),
        replace(TWO, name="not-what-go-names-it"),
    ],
)
def test_servers_with_another_module_or_flags_are_built_separately(other: Server) -> None:
    assert groups([ONE, other]) == [[ONE], [other]]


def test_all_of_kubernetes_is_one_group() -> None:
    node = (*versions.CONTROL_PLANE, *versions.NODE)
    servers = groups([binary for binary in node if isinstance(binary, Server)])
    assert [len(group) for group in servers if group[0].module == "k8s"] == [5]


SECONDS = {0: "0 s", 89: "89 s", 90: "2 min", 170: "3 min", 545: "9 min"}


@pytest.mark.parametrize("seconds", SECONDS)
def test_the_remaining_time_is_the_sum_of_the_costs(seconds: int) -> None:
    servers = [replace(ONE, cost=seconds // 2), replace(TWO, cost=seconds - seconds // 2)]
    assert remaining(servers) == f"about {SECONDS[seconds]} left"


def test_each_binary_is_built_once_into_its_own_folder(tmp_path: Path, calls: Path) -> None:
    cache = Cache(tmp_path / "cache")
    lines: list[str] = []
    servers = [ONE, OTHER, TWO, ONE]
    binaries = builds.build(cache, servers, lines.append)
    assert [path.read_text().strip() for path in binaries] == [server.package for server in servers]
    assert all(list(path.parent.iterdir()) == [path] for path in binaries)
    assert len(calls.read_text().splitlines()) == 2
    assert [line for line in lines if "done in" not in line] == [
        "3 of 3 servers to build; about 3 min left",
        "building one, two",
        "1 of 3 servers to build; about 30 s left",
        "building other",
    ]
    lines.clear()
    assert builds.build(cache, servers, lines.append) == binaries
    assert lines == []


def test_only_missing_binaries_are_built(tmp_path: Path, calls: Path) -> None:
    cache = Cache(tmp_path / "cache")
    lines: list[str] = []
    (one,) = builds.build(cache, [ONE], lines.append)
    # Folders that killed builds have left, of this and of an older version of the rig.
    (one.parent / ".fresh.1").mkdir()
    (one.parent / ".fresh.1" / "one").touch()
    (one.parent / ".one.1").touch()
    one.unlink()
    _, two = builds.build(cache, [ONE, TWO], lines.append)
    two.unlink()
    builds.build(cache, [ONE, TWO], lines.append)
    assert list(one.parent.iterdir()) == [one]
    built = [line.partition(" -o ")[2].split()[1:] for line in calls.read_text().splitlines()]
    assert built == [[ONE.package], [ONE.package, TWO.package], [TWO.package]]
    assert lines[0] == "building one"
