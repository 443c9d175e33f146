"""`python -m release`: writes all files of a release into one folder.

Reproducible: no file contains a time or a path. Called by `make release`.
"""

import filecmp
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from baoctl import __version__
from e2e.rig.binaries import obtain
from e2e.rig.paths import REPOSITORY, Cache, cache_root
from e2e.rig.versions import KUBECTL
from release.bundle.csv import PACKAGE
from release.bundle.files import EXTRAS, bundle_archive, bundle_files, extras_file
from release.chart.archive import NAME as CHART
from release.chart.archive import archive
from release.chart.files import chart_files
from release.checksums import FILE as CHECKSUMS
from release.checksums import checksums
from release.cli_archive import PLATFORMS, Tools, cli_archive
from release.krew import FILE as KREW
from release.krew import LICENSE, Source, archive_name, manifest
from release.krew import archive as krew_archive
from release.manifests import Checkout, install_files
from release.notes import release_notes
from release.sbom import FILE as SBOM
from release.sbom import sbom

NOTES = "RELEASE_NOTES.md"
_WORK = REPOSITORY / "build" / "release"
_IMAGE = re.compile(r"[a-z0-9][a-z0-9.:/_-]*")
_URL = re.compile(r"https://[A-Za-z0-9][A-Za-z0-9.:/_-]*")


@dataclass(frozen=True, slots=True)
class Release:
    """The version of a release, and the location of its image and files."""

    version: str
    image: str
    source: Source


def write_manifests(checkout: Checkout, release: Release, out: Path) -> None:
    """Write the files that need no compilation: installation files, chart, bundle and notes."""
    for name, text in install_files(checkout, release.image, release.version).items():
        (out / name).write_text(text, encoding="utf-8")
    chart = archive(chart_files(checkout, release.version, release.image))
    (out / f"{CHART}-{release.version}.tgz").write_bytes(chart)
    bundle = bundle_files(checkout, release.version, release.image, release.source.home)
    archived = bundle_archive(bundle, release.version)
    (out / f"{PACKAGE}-bundle-{release.version}.tgz").write_bytes(archived)
    (out / EXTRAS).write_text(extras_file(checkout, release.version), encoding="utf-8")
    changes = [path for path in (checkout.root / "changes").glob("*.*.md")]
    texts = ((path.name, path.read_text(encoding="utf-8")) for path in changes)
    (out / NOTES).write_text(release_notes(release.version, texts), encoding="utf-8")


def write(
    checkout: Checkout, release: Release, tools: Tools, platforms: Sequence[str], out: Path
) -> None:
    """Write all files of a release into an empty folder, the checksums last."""
    write_manifests(checkout, release, out)
    sbom(checkout.root, release.version, tools, out / SBOM)
    for platform in platforms:
        cli_archive(checkout.root, _WORK, platform, tools, out / f"kubectl-bao-{platform}")
    write_krew(checkout, release, platforms, out)
    (out / CHECKSUMS).write_text(checksums(out), encoding="utf-8")


def write_krew(checkout: Checkout, release: Release, platforms: Sequence[str], out: Path) -> None:
    """Write the archives for krew and their manifest; the programs must be in the folder."""
    license_text = (checkout.root / LICENSE).read_bytes()
    archives = {
        platform: krew_archive((out / f"kubectl-bao-{platform}").read_bytes(), license_text)
        for platform in platforms
    }
    for platform, content in archives.items():
        (out / archive_name(platform)).write_bytes(content)
    text = manifest(release.version, release.source, archives)
    (out / KREW).write_text(text, encoding="utf-8")


def differing(first: Path, second: Path) -> list[str]:
    """Return the files that differ between two folders."""
    names = {path.name for folder in (first, second) for path in folder.iterdir()}
    _, mismatch, missing = filecmp.cmpfiles(first, second, sorted(names), shallow=False)
    return sorted((*mismatch, *missing))


def _checked_version(_: click.Context, __: click.Parameter, value: str) -> str:
    if value != __version__:
        raise click.BadParameter(
            f"{value!r}: must be {__version__}, the version in baoctl/__init__.py, which the "
            "programs print; change it there for another release"
        )
    return value


def _checked_url(_: click.Context, __: click.Parameter, value: str) -> str:
    if _URL.fullmatch(value) is None:
        raise click.BadParameter(f"{value[:80]!r}: must be the https URL of the project")
    return value.rstrip("/")


def _checked_image(_: click.Context, __: click.Parameter, value: str) -> str:
    if _IMAGE.fullmatch(value) is None:
        raise click.BadParameter(
            f"{value[:80]!r}: must be a repository without a tag, as in "
            "registry.example.com/openbao-operator"
        )
    return value


@click.command()
@click.option("--version", required=True, callback=_checked_version, help="Version.")
@click.option("--image", required=True, callback=_checked_image, help="Repository of the image.")
@click.option("--url", required=True, callback=_checked_url, help="URL of the project.")
@click.option(
    "--tools",
    type=click.Path(path_type=Path, exists=True),
    required=True,
    help="Folder with cyclonedx-py, shiv and uv.",
)
@click.option("--out", type=click.Path(path_type=Path), default=REPOSITORY / "dist")
@click.option(
    "--platform",
    "platforms",
    type=click.Choice([*PLATFORMS]),
    multiple=True,
    default=[*PLATFORMS],
    help="Platform of kubectl-bao; repeatable.",
)
@click.option("--twice", is_flag=True, help="Build twice, and fail if the files differ.")
def main(version: str, url: str, tools: Path, out: Path, twice: bool, **chosen: Any) -> None:
    """Write the files of a release."""
    (kubectl,) = obtain(Cache(cache_root()), [KUBECTL], lambda text: click.echo(text, err=True))
    checkout, platforms = Checkout(REPOSITORY, kubectl), chosen["platforms"]
    source = Source(url, f"{url}/releases/download/v{version}")
    release = Release(version, chosen["image"], source)
    programs = Tools(tools.absolute())
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    write(checkout, release, programs, platforms, out)
    if twice:
        with tempfile.TemporaryDirectory() as name:
            write(checkout, release, programs, platforms, Path(name))
            if found := differing(out, Path(name)):
                click.echo(f"a second build differs in {', '.join(found)}", err=True)
                sys.exit(1)
    click.echo((out / CHECKSUMS).read_text(), nl=False)
