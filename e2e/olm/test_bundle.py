"""The validators of the Operator Framework accept the bundle, and refuse a broken one."""

import subprocess
from pathlib import Path

import pytest

from e2e.olm.bundle import VERSION, checkout_of, write_bundle
from e2e.rig import binaries
from e2e.rig.paths import REPOSITORY, Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import BUNDLE_VALIDATOR

REPOSITORY_OF_IMAGE = "registry.example.com/openbao-operator"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The bundle of this checkout."""
    write_bundle(checkout_of(REPOSITORY), REPOSITORY_OF_IMAGE, tmp_path)
    return tmp_path


def validate(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run the validators on a bundle."""
    (program,) = binaries.obtain(Cache(cache_root()), [BUNDLE_VALIDATOR], to_stderr())
    argv = [str(program), str(folder)]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)


def test_the_validators_accept_the_bundle(folder: Path) -> None:
    done = validate(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    print(f"\n{done.stdout}")
    assert f"openbao-operator.v{VERSION}: 7 definitions" in done.stdout


def test_a_bundle_without_a_definition_is_refused(folder: Path) -> None:
    (definition,) = (folder / "manifests").glob("openbaotenants.*")
    definition.unlink()
    done = validate(folder)
    assert done.returncode == 1
    assert "Kind=OpenBaoTenant" in done.stdout
    assert "not found in bundle" in done.stdout
