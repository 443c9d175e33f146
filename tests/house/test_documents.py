"""The rules about documents, changes, lock files and the Makefile, and violations of them."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.spec import ClusterSpec, OpenBaoCluster
from contracts.api.group import CLUSTER_KIND
from contracts.api.rules.cluster import violations
from contracts.api.unknown_fields import unknown_fields
from tests.contracts.api.clusters import cluster_object
from tests.house import documents
from tests.house.checkout import ROOT, Source, files, sources
from tests.house.rule import expect_none

README = ROOT / "README.md"
RUNTIME_LOCK, DEV_LOCK, *OTHER_LOCKS = (
    ROOT / f"requirements/{name}.txt"
    for name in ("runtime", "dev", "docs", "release", "image", "cli")
)
_KUSTOMIZATIONS = [ROOT / path for path in files() if path.endswith("kustomization.yaml")]
_DOCUMENTS = [source for source in sources() if source.path.endswith(".md")]
_PAGES = {source.path: source.text for source in _DOCUMENTS}


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_decisions_have_the_required_form() -> None:
    paths = sorted((ROOT / "docs/adr").iterdir())
    assert paths
    expect_none(
        (
            problem
            for file in paths
            for problem in documents.adr_problems(file.name, file.read_text())
        ),
        "decisions",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("0001-title.md", "# T\n\n## Decision\n\n## Rationale\n"),
        ("20261341-title.md", "# T\n\n## Decision\n\n## Rationale\n"),
        ("20261121-Title.md", "# T\n\n## Decision\n\n## Rationale\n"),
        ("20261121-title.md", "T\n\n## Decision\n\n## Rationale\n"),
        ("20261121-title.md", "# T\n\n## Decision\n"),
        ("20261121-title.md", "# T\n\n## Price\n\n## Decision\n\n## Rationale\n"),
    ],
)
def test_a_malformed_decision_is_reported(name: str, text: str) -> None:
    assert list(documents.adr_problems(name, text))


def test_a_valid_decision_is_not_reported() -> None:
    assert not list(
        documents.adr_problems("20261121-a-b.md", "# T\n\n## Decision\n\n## Rationale\n")
    )


def test_changes_have_the_required_form() -> None:
    paths = [file for file in (ROOT / "changes").iterdir() if file.name != "README.md"]
    expect_none(
        (
            problem
            for file in paths
            for problem in documents.change_problems(file.name, file.read_text())
        ),
        "changes",
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("first.md", "Works."),
        ("first.bug.md", "Works."),
        ("First Thing.added.md", "Works."),
        ("first.added.md", " \n"),
        ("first.added.md", "# Works\n"),
    ],
)
def test_a_malformed_change_is_reported(name: str, text: str) -> None:
    assert list(documents.change_problems(name, text))


def test_a_valid_change_is_not_reported() -> None:
    assert not list(documents.change_problems("first-boot.added.md", "It boots.\n"))


@pytest.mark.parametrize(
    "lock",
    [RUNTIME_LOCK, DEV_LOCK, *OTHER_LOCKS],
    ids=lambda lock: lock.name,
)
def test_lock_files_are_exact(lock: Path) -> None:
    expect_none(documents.lock_problems(lock.name, lock.read_text()), "lock")


@pytest.mark.parametrize(
    "line",
    [
        "six>=1.0 \\\n    --hash=sha256:ab",
        "six==1.0",
        "--index-url x",
        "six @ https://host/six.whl \\\n    --hash=sha256:ab",
    ],
)
def test_an_inexact_lock_file_is_reported(line: str) -> None:
    good = "attrs==1.0 \\\n    --hash=sha256:ab"
    assert list(documents.lock_problems("x", f"{good}\n{line}\n"))
    assert not list(documents.lock_problems("x", good))


def test_lock_files_have_the_dependencies_of_pyproject() -> None:
    needed, tools = documents.dependencies(read("pyproject.toml"))
    runtime, dev = documents.pins(RUNTIME_LOCK.read_text()), documents.pins(DEV_LOCK.read_text())
    assert {*needed} <= runtime.keys()
    assert {*needed, *tools} <= dev.keys()
    # The tests run with the versions that are released.
    assert runtime.items() <= dev.items()


def test_every_dependency_has_a_reason() -> None:
    needed, tools = documents.dependencies(read("pyproject.toml"))
    others = [
        name
        for file in ("docs", "release")
        for name in documents.requirements(read(f"requirements/{file}.in"))
    ]
    document = read("docs/dependencies.md")
    expect_none(
        documents.undocumented_dependencies([*needed, *tools, *others], document),
        "in pyproject.toml and requirements/*.in, or in docs/dependencies.md, not in both",
    )


def test_a_dependency_without_a_reason_is_reported() -> None:
    needed, tools = documents.dependencies(
        '[project]\ndependencies = ["PyYAML>=6"]\noptional-dependencies.dev = ["ruff"]\n'
    )
    assert documents.undocumented_dependencies([*needed, *tools], "| `pyyaml` | x |") == ["ruff"]
    assert documents.undocumented_dependencies(needed, "| `pyyaml` | x |\n| `gone` |") == ["gone"]


def test_make_help_lists_every_target() -> None:
    process = subprocess.run(
        ["make", "--no-print-directory", "-C", ROOT, "help"],
        capture_output=True,
        text=True,
        check=True,
    )
    expect_none(
        documents.undocumented_targets(read("Makefile"), process.stdout), "not in make help"
    )


def test_a_target_without_help_is_reported() -> None:
    makefile = "VENV := x\na: b ## Do a.\n\t@true\nb:\n\t@true\n"
    assert documents.undocumented_targets(makefile, "Try\n  a   Do a.\n") == ["b"]


def test_ci_runs_the_commands_of_the_readme() -> None:
    readme = README.read_text()
    commands = [line.split(" </dev")[0] for line in read(".ci/run").splitlines() if "make" in line]
    assert [command for command in commands if command.startswith("make ")] == [
        "make test",
        "make e2e",
    ]
    assert all(f"    {item}\n" in readme for item in ("make test", "make e2e"))


@pytest.mark.parametrize("source", _DOCUMENTS, ids=lambda source: source.path)
def test_references_in_documents_exist(source: Source) -> None:
    lost = documents.lost_references(source.text, lambda path: (ROOT / path).exists())
    expect_none(lost, source.path)


def test_a_broken_reference_is_reported() -> None:
    there = {"runtime", "runtime/apply/apply.py", "docs"}
    text = (
        "`runtime/apply/apply.py` `runtime.apply.apply` `docs/gone.md` `runtime.gone` `n/a` `a b/c`"
    )
    assert documents.lost_references(text, there.__contains__) == ["docs/gone.md", "runtime.gone"]


@pytest.mark.parametrize("path", _PAGES)
def test_links_have_targets(path: str) -> None:
    expect_none(documents.lost_links(path, _PAGES), path)


@pytest.mark.parametrize("path", [p for p in _PAGES if p.startswith(("docs/", "README"))])
def test_references_to_pages_are_links(path: str) -> None:
    expect_none(documents.unlinked_pages(_PAGES[path]), f"named without a link: {path}")


def test_a_broken_link_is_reported() -> None:
    pages = {
        "docs/a.md": "# A\n\n[x](b.md) [x](b.md#two-words) [x](#a) [x](https://host/x) `[x](y)`\n"
        "[x](c.md) [x](b.md#three) [x](../README.md)\n```\n[x](y.md)\n```\n",
        "docs/b.md": "# B\n\n## Two words\n```\n# three\n```\n",
        "README.md": "[x](docs/a.md#a)",
    }
    assert list(documents.lost_links("docs/a.md", pages)) == [
        "c.md: no such page",
        "b.md#three: no such heading",
        "../README.md: no such page",
    ]
    assert not list(documents.lost_links("README.md", pages))
    assert documents.unlinked_pages("`docs/a.md` [A](a.md)\n```\n`docs/b.md`\n```") == ["docs/a.md"]


def test_every_page_is_in_the_navigation_once() -> None:
    pages = [path.removeprefix("docs/") for path in _PAGES if path.startswith("docs/")]
    expect_none(documents.navigation_problems(read("mkdocs.yml"), pages), "mkdocs.yml")


def test_a_page_that_the_navigation_lacks_is_reported() -> None:
    nav = "nav: [Home: a.md, Part: [B: b.md, Again: {B: b.md}, Gone: c.md]]"
    assert documents.navigation_problems(nav, ["a.md", "b.md", "d.md", "adr/x.md"]) == [
        "b.md",
        "c.md",
        "d.md",
    ]


@pytest.mark.parametrize("file", _KUSTOMIZATIONS, ids=lambda file: file.parent.name)
def test_kubectl_can_load_every_kustomization(file: Path) -> None:
    def is_folder(path: str) -> bool:
        return (file.parent / path / "kustomization.yaml").is_file()

    expect_none(documents.unloadable_resources(file.read_text(), is_folder), str(file))


def test_a_resource_outside_of_its_folder_is_reported() -> None:
    text = "resources: [a.yaml, ../../config/crd/x.yaml, ../base]"
    assert documents.unloadable_resources(text, {"../base"}.__contains__) == [
        "../../config/crd/x.yaml"
    ]


def test_documents_that_code_refers_to_exist() -> None:
    words = {
        (source.path, word)
        for source in sources()
        if not source.path.startswith("tests/house/")
        for word in documents.document_names(source.text)
    }
    expect_none(
        (f"{p}: {w}" for p, w in sorted(words) if not (ROOT / w).exists()), "lost documents"
    )


def test_names_of_documents_are_found() -> None:
    assert documents.document_names("see docs/limits.md, docs/adr/20261121-a.md") == {
        "docs/limits.md",
        "docs/adr/20261121-a.md",
    }


@pytest.mark.parametrize("source", _DOCUMENTS, ids=lambda source: source.path)
def test_clusters_in_documents_are_valid(source: Source) -> None:
    """Whole clusters, and parts that start with `spec:`, which are added to a small cluster."""
    for manifest in documents.manifests(source.text):
        if manifest["kind"] == CLUSTER_KIND:
            assert cluster_problems(manifest) == []
    for part in documents.parts(source.text):
        assert cluster_problems(cluster_object(**part["spec"])) == []


def cluster_problems(manifest: dict[str, Any]) -> list[str]:
    """The errors that strict validation and the rules report about a cluster."""
    top = {"apiVersion", "kind", "metadata", "spec"}
    unknown = sorted(set(manifest) - top)
    unknown += unknown_fields(manifest["spec"], ClusterSpec, "spec")
    return [*unknown, *map(str, violations(OpenBaoCluster.from_object(manifest)))]


def test_an_invalid_cluster_in_a_document_is_reported() -> None:
    text = "```yaml\nspec:\n  replica: 3\n  network: {apiServerCIDR: 1.2.3.4/99, dns: x}\n```\n"
    (part,) = documents.parts(text)
    problems = cluster_problems(cluster_object(**part["spec"]))
    assert problems[:2] == ["spec.replica", "spec.network.dns"]
    assert problems[2].startswith("spec.network.apiServerCIDR: must be a CIDR")


def test_the_readme_shows_a_cluster() -> None:
    assert CLUSTER_KIND in [
        manifest["kind"] for manifest in documents.manifests(README.read_text())
    ]
