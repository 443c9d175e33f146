"""Invented versions and images (reliability T19): refused, or reported, never run."""

import pytest

from contracts.api.violation import InvalidClusterError
from managers.cluster.resolve.resolve import resolve
from managers.upgrade.decide import decide_upgrade
from managers.upgrade.effective_spec import with_accepted_release
from runtime.outcome import Blocked
from tests import gen

OLD = gen.cluster().initialized("2.4.0")

VERSIONS = (
    "latest",
    "2",
    "2.4",
    "2.4.0.1",
    "2.4.0-",
    "2.4.0 ",
    " 2.4.0",
    "2.4.0\n",
    "2.4.0;rm -rf /",
    "2.4.0/../../evil",
    "2.4.0@sha256:" + "0" * 64,
    "$(id)",
    "${HOSTNAME}",
    "\u0662.\u0664.\u0660",
    "2.4.0\u200b",
    "-1.0.0",
    "2.4.0" * 50,
    "",
)
IMAGES = (
    "bao:2.4.0\n",
    "bao:2.4.0 --privileged",
    "http://example.com/bao:2.4.0",
    "example.com/../bao:2.4.0",
    "example.com/bao:2.4.0@sha256:short",
    "example.com/bao:2.4.0@md5:" + "0" * 32,
    "EXAMPLE.com/BAO:2.4.0",
    "example.com//bao:2.4.0",
    "example.com/bao:$(id)",
    "example.com/bao:2.4.1",
    "example.com/bao:latest",
    "@sha256:" + "0" * 64,
    ":2.4.0",
    "x" * 5000,
)
OLDER = ("2.3.9", "2.3.0", "2.0.0", "1.99.99", "0.0.1", "2.4.0-rc1", "2.4.0-beta20250101")


def refusal_reason(cluster: gen.Cluster) -> str:
    """The reason why the cluster is refused, or "unreadable"; "" when it is accepted."""
    try:
        read = cluster.read()
    except InvalidClusterError:
        return "unreadable"
    observed = gen.running(OLD).facts()
    decision = decide_upgrade(read, observed, gen.INSTALLATION.pod_deadline)
    if isinstance(decision.outcome, Blocked):
        return decision.outcome.reason
    answer = resolve(with_accepted_release(read), cluster.owner(), observed, gen.INSTALLATION)
    return answer.reason if isinstance(answer, Blocked) else ""


@pytest.mark.parametrize("version", VERSIONS, ids=ascii)
def test_attack_t19_a_made_up_version_is_refused(version: str) -> None:
    assert refusal_reason(OLD.with_spec(version=version)) in ("unreadable", "InvalidSpec")


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: ascii(image)[:40])
def test_attack_t19_a_made_up_image_is_refused(image: str) -> None:
    message = refusal_reason(OLD.with_spec(image=image))
    assert message in ("unreadable", "InvalidSpec", "ImageVersionMismatch")


@pytest.mark.parametrize("version", OLDER)
def test_attack_t19_nothing_older_ever_replaces_what_runs(version: str) -> None:
    assert refusal_reason(OLD.with_spec(version=version)) in ("DowngradeBlocked", "InvalidSpec")


def test_attack_t19_a_forged_status_allows_no_downgrade() -> None:
    """The servers show which version runs; an edited status does not."""
    lied = OLD.with_status(currentVersion="2.3.0").with_spec(version="2.3.5")
    assert refusal_reason(lied) in ("DowngradeBlocked", "InvalidSpec")


def test_valid_versions_and_images_are_accepted() -> None:
    assert refusal_reason(OLD) == ""
    assert refusal_reason(OLD.with_spec(image="example.com/bao:2.4.0")) == ""
    assert refusal_reason(OLD.with_spec(image="example.com/bao@sha256:" + "0" * 64)) == ""
