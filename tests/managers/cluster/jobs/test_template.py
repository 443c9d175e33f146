"""managers.cluster.jobs.template and template_source: image, login, CA and addresses of jobs."""

from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from contracts.jobs.template import AuthorityFile, JobLogin, JobOverrides, JobTemplate
from contracts.naming import names
from contracts.naming.names import Job
from contracts.pools.owned_names import ORDINALS_MAX
from contracts.records.environment import ApiEndpoints
from contracts.records.observed import ImageVerdict
from managers.cluster.jobs.template import (
    authority_of,
    forbidden_addresses,
    login_of,
    servers_of,
    verified_image,
)
from managers.cluster.jobs.template_source import TemplateLookup
from managers.context.reads.api_server import ApiServer
from managers.images.policy import VerificationRequest
from managers.images.verifier import ImageVerifier
from runtime.builtin_kinds import PVC, SERVICE_ACCOUNT
from runtime.outcome import Blocked, Wait
from runtime.types import Object, Resource
from tests import gen
from tests.gen.api import FakeApi, Outside

S3: dict[str, Any] = {"endpoint": "https://s3.example.com", "bucket": "b"}
KEY = "-----BEGIN PUBLIC KEY-----\nx\n-----END PUBLIC KEY-----\n"


def backup(**fields: Any) -> dict[str, Any]:
    return {"schedule": "0 3 * * *", "target": S3, **fields}


PLAIN = gen.cluster()
LOGIN = PLAIN.self_init(login=True)
OWN_ROLE = backup(jwtAuthRole="mine")
OWN_TOKEN = backup(tokenSecretRef={"name": "own"})
DEFAULT = JobLogin(role="openbao-operator-backup")
MISSING = "JobLoginMissing"


class Row(NamedTuple):
    cluster: gen.Cluster
    job: Job
    expected: JobLogin | str
    """The login, or the reason why there is none."""
    overrides: JobOverrides = JobOverrides()


LOGINS = {
    "the role of the first boot": Row(LOGIN.with_spec(backup=backup()), "backup", DEFAULT),
    "no role": Row(PLAIN.with_spec(backup=backup()), "backup", MISSING),
    "a role of the operator": Row(
        PLAIN.with_login(keys="k").with_spec(backup=backup()), "backup", DEFAULT
    ),
    "a role by name": Row(PLAIN.with_spec(backup=OWN_ROLE), "backup", JobLogin(role="mine")),
    "a token before the usual role": Row(
        LOGIN.with_spec(backup=OWN_TOKEN), "backup", JobLogin(token_secret="own")
    ),
    "a role before a token": Row(
        PLAIN.with_spec(backup={**OWN_TOKEN, **OWN_ROLE}), "backup", JobLogin(role="mine")
    ),
    "upgrades with the role of the first boot": Row(
        LOGIN.with_spec(backup=OWN_TOKEN), "upgrade", JobLogin(role="openbao-operator-upgrade")
    ),
    "upgrades with a token of their own": Row(
        PLAIN.with_spec(upgrade={"tokenSecretRef": {"name": "own"}}),
        "upgrade",
        JobLogin(token_secret="own"),
    ),
    "no role for upgrades": Row(PLAIN.with_spec(backup=OWN_TOKEN), "upgrade", MISSING),
    "a restore has a role of its own": Row(
        LOGIN.with_spec(backup=OWN_ROLE), "restore", JobLogin(role="openbao-operator-restore")
    ),
    "backup tokens restore nothing": Row(PLAIN.with_spec(backup=OWN_TOKEN), "restore", MISSING),
    "the cluster names the role of restores": Row(
        PLAIN.with_spec(restore={"jwtAuthRole": "mine"}), "restore", JobLogin(role="mine")
    ),
    "one restore names another role": Row(
        PLAIN.with_spec(restore={"jwtAuthRole": "mine"}),
        "restore",
        JobLogin(role="its"),
        JobOverrides(role="its"),
    ),
    "one restore brings a token": Row(
        LOGIN.with_spec(restore={"jwtAuthRole": "mine"}),
        "restore",
        JobLogin(token_secret="its"),
        JobOverrides(token_secret="its"),
    ),
}


@pytest.mark.parametrize(("cluster", "job", "expected", "overrides"), LOGINS.values(), ids=LOGINS)
def test_the_login_of_a_job(
    cluster: gen.Cluster, job: Job, expected: JobLogin | str, overrides: JobOverrides
) -> None:
    login = login_of(cluster.read(), job, overrides)
    if isinstance(login, Blocked):
        assert login.reason == expected
        assert f"spec.{job}.jwtAuthRole" in login.message
    else:
        assert login == expected


EXTERNAL = {"mode": "External", "external": {"serverSecretRef": {"name": "mine"}}}
ACME = {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/d", "email": "a@b.c"}}
PRIVATE_ACME = {"mode": "ACME", "acme": {**ACME["acme"], "caSecretRef": {"name": "acme-ca"}}}  # type: ignore[dict-item]

# sentence: (spec.tls, the CA file)
AUTHORITIES: dict[str, tuple[dict[str, Any] | None, AuthorityFile | None]] = {
    "the generated CA": (None, AuthorityFile("x-tls-server", "ca.crt")),
    "an external CA": (EXTERNAL, AuthorityFile("mine", "ca.crt")),
    "public": (ACME, None),
    "a private ACME CA": (PRIVATE_ACME, AuthorityFile("acme-ca", "pki-ca.crt")),
}


@pytest.mark.parametrize(("tls", "expected"), AUTHORITIES.values(), ids=AUTHORITIES)
def test_which_ca_a_job_trusts(tls: dict[str, Any] | None, expected: AuthorityFile | None) -> None:
    authority = authority_of(PLAIN.with_spec(tls=tls).read())
    assert authority == expected
    assert authority is None or authority.secret != names.tls_ca_secret("x")


def test_the_addresses_of_the_api_server_are_forbidden() -> None:
    endpoints = ApiEndpoints(("192.0.2.1", "2001:db8::1"), 6443)
    assert forbidden_addresses(("10.96.0.1", "fd00::1"), endpoints) == (
        "10.96.0.1:443",
        "[fd00::1]:443",
        "192.0.2.1:6443",
        "[2001:db8::1]:6443",
    )


def raft(voters: int, others: int = 0, readers: int | None = None) -> dict[str, Any]:
    raft_status = {"voters": voters, "nonVoters": others, "leader": "x-0"}
    return {"raft": {**raft_status, **({} if readers is None else {"readReplicas": readers})}}


# sentence: (cluster, number of pods that may lead)
SIZES: dict[str, tuple[gen.Cluster, int]] = {
    "the requested number": (PLAIN.with_spec(replicas=3), 3),
    "the existing number during a scale-down": (
        PLAIN.with_spec(replicas=3).with_status(adminOps=raft(5)),
        5,
    ),
    "the requested number during a scale-up": (
        PLAIN.with_spec(replicas=5).with_status(adminOps=raft(3, 1)),
        5,
    ),
    "a status of any number stays small": (PLAIN.with_status(adminOps=raft(100_000)), ORDINALS_MAX),
    "no read replica counts": (PLAIN.with_spec(replicas=3).with_status(adminOps=raft(3, 2, 2)), 3),
}


@pytest.mark.parametrize(("cluster", "count"), SIZES.values(), ids=SIZES)
def test_which_servers_a_job_connects_to(cluster: gen.Cluster, count: int) -> None:
    assert servers_of(cluster.read()) == tuple(f"x-{ordinal}" for ordinal in range(count))


# --- the image ----------------------------------------------------------------------------------

IMAGE = "registry.example.com/op:1"
PINNED = "registry.example.com/op@sha256:" + "a" * 64
STRICT = {"enabled": True, "publicKey": KEY}
WARN = {**STRICT, "failurePolicy": "Warn"}
KEYLESS = {"enabled": True, "issuer": "https://i.example.com", "subject": "s"}
PROVEN = ImageVerdict(IMAGE, pinned=PINNED)
UNVERIFIED = ImageVerdict(IMAGE, problem="unverified", message="no signature", retry_after=30.0)
AWAY = ImageVerdict(IMAGE, problem="unreachable", message="no answer", retry_after=15.0)
FAILED = "BackupExecutorImageVerificationFailed"

# sentence: (spec.operatorImageVerification, verdict, the reference or the reason)
IMAGES: dict[str, tuple[dict[str, Any] | None, ImageVerdict | None, str]] = {
    "no policy": (None, None, IMAGE),
    "a disabled policy": ({**STRICT, "enabled": False}, None, IMAGE),
    "verified": (STRICT, PROVEN, PINNED),
    "verified with policy Warn": (WARN, PROVEN, PINNED),
    "not verified": (STRICT, UNVERIFIED, FAILED),
    "not verified with policy Warn": (WARN, UNVERIFIED, IMAGE),
    "an unavailable registry": (STRICT, AWAY, "ImageRegistryUnavailable"),
    "no verdict yet": (STRICT, None, "ImageRegistryUnavailable"),
    "a verified identity": (KEYLESS, PROVEN, PINNED),
    "no verified identity": (KEYLESS, UNVERIFIED, FAILED),
    "no verdict on an identity yet": (KEYLESS, None, "ImageRegistryUnavailable"),
    "no verified identity with policy Warn": (
        {**KEYLESS, "failurePolicy": "Warn"},
        UNVERIFIED,
        IMAGE,
    ),
}


@pytest.mark.parametrize(("policy", "verdict", "expected"), IMAGES.values(), ids=IMAGES)
def test_image(policy: dict[str, Any] | None, verdict: ImageVerdict | None, expected: str) -> None:
    cluster = PLAIN.with_spec(operatorImageVerification=policy).read()
    outcome = verified_image(cluster, "backup", IMAGE, verdict)
    assert (outcome if isinstance(outcome, str) else outcome.reason) == expected
    if isinstance(outcome, Blocked):
        assert IMAGE in outcome.message or "signature" in outcome.message
    if not isinstance(outcome, str):
        assert not isinstance(outcome, Wait) or outcome.after


def test_a_restore_has_its_own_reason() -> None:
    cluster = PLAIN.with_spec(operatorImageVerification=STRICT).read()
    outcome = gen.expect(Blocked, verified_image(cluster, "restore", IMAGE, UNVERIFIED))
    assert outcome.reason == "RestoreExecutorImageVerificationFailed"


# --- inputs that are read -----------------------------------------------------------------------

BACKED_UP = LOGIN.with_spec(backup=backup())
ACCOUNT = "x-backup-serviceaccount"
OTHER = {"apiVersion": "v1", "kind": "Other", "name": "o", "uid": "uid-o", "controller": True}


class Verifier(ImageVerifier):
    """Verifies everything, and records the requests."""

    def __init__(self, outside: Outside) -> None:
        super().__init__(outside.api, outside.clock)
        self.requests: list[VerificationRequest] = []

    async def verdict(self, question: VerificationRequest, records: Any = ()) -> ImageVerdict:
        self.requests.append(question)
        return ImageVerdict(question.reference, pinned=PINNED)


class Bench:
    def __init__(self, image: str = IMAGE, platform: Any = "kubernetes") -> None:
        self.outside = Outside()
        self.api: FakeApi = self.outside.api
        self.verifier = Verifier(self.outside)
        installation = replace(gen.INSTALLATION, operator_image=image, platform=platform)
        server = ApiServer(self.api, self.outside.clock, "10.96.0.1")
        self.source = TemplateLookup(self.api, installation, self.verifier, server)

    def having(self, resource: Resource, name: str, owner: Object | None = None) -> "Bench":
        owners = [gen.cluster().owner().reference() if owner is None else owner]
        metadata: Object = {"name": name, "namespace": gen.NAMESPACE, "ownerReferences": owners}
        head = {"apiVersion": resource.api_version, "kind": resource.kind}
        self.api.with_objects((resource, {**head, "metadata": metadata}))
        return self

    async def of(
        self, cluster: gen.Cluster, overrides: JobOverrides | None = None, job: Job = "backup"
    ) -> Any:
        return await self.source.of(cluster.read(), job, overrides or JobOverrides())


async def test_a_job_template_has_image_account_and_login() -> None:
    template = gen.expect(JobTemplate, await Bench().having(SERVICE_ACCOUNT, ACCOUNT).of(BACKED_UP))
    assert (template.image, template.account, template.login) == (IMAGE, ACCOUNT, DEFAULT)
    assert (template.audience, template.forbidden) == ("openbao-internal/ns/x", ("10.96.0.1:443",))
    assert template.server_env().ca_path


async def test_the_spec_decides_what_the_pod_looks_like() -> None:
    cluster = BACKED_UP.with_spec(
        imagePullSecrets=[{"name": "pull"}],
        scheduling={"nodeSelector": {"disk": "ssd"}, "affinity": {"nodeAffinity": {}}},
        workloadHardening={"appArmorEnabled": True},
    )
    template = await Bench(platform="openshift").having(SERVICE_ACCOUNT, ACCOUNT).of(cluster)
    assert template.pull_secrets == ("pull",)
    assert template.nodes == {"nodeSelector": {"disk": "ssd"}}
    assert template.confined
    assert not template.fixed_ids


async def test_the_requested_image_is_verified() -> None:
    bench = Bench().having(SERVICE_ACCOUNT, ACCOUNT)
    cluster = BACKED_UP.with_spec(
        backup=backup(image="registry.example.com/own:1"), operatorImageVerification=STRICT
    )
    template = await bench.of(cluster)
    assert template.image == PINNED
    assert [request.reference for request in bench.verifier.requests] == [
        "registry.example.com/own:1"
    ]
    await bench.of(cluster, JobOverrides(image="registry.example.com/its:1"))
    assert bench.verifier.requests[-1].reference == "registry.example.com/its:1"


@pytest.mark.parametrize("job", ["backup", "upgrade"])
async def test_without_an_image_there_is_no_template_and_its_field_is_named(job: Job) -> None:
    outcome = gen.expect(Blocked, await Bench(image="").of(BACKED_UP, job=job))
    assert outcome.reason == "JobImageUnknown"
    assert f"set spec.{job}.image" in outcome.message


async def test_a_step_of_an_upgrade_has_its_own_image_and_account_and_needs_no_store() -> None:
    bench = Bench().having(SERVICE_ACCOUNT, "x-upgrade-serviceaccount")
    cluster = VOLUME.with_spec(upgrade={"image": "registry.example.com/step:1"})
    template = gen.expect(JobTemplate, await bench.of(cluster, job="upgrade"))
    assert template.image == "registry.example.com/step:1"
    assert template.account == "x-upgrade-serviceaccount"
    assert template.login == JobLogin(role="openbao-operator-upgrade")


async def test_a_job_waits_for_its_account() -> None:
    outcome = gen.expect(Wait, await Bench().of(BACKED_UP))
    assert (outcome.reason, outcome.after) == ("JobServiceAccountMissing", 1.0)


async def test_an_account_of_another_owner_is_not_used() -> None:
    outcome = gen.expect(
        Blocked, await Bench().having(SERVICE_ACCOUNT, ACCOUNT, OTHER).of(BACKED_UP)
    )
    assert outcome.reason == "ForeignObject"
    assert "Other o" in outcome.message


VOLUME = BACKED_UP.with_spec(
    backup=backup(target={"provider": "pvc", "bucket": "b", "pvc": {"claimName": "snapshots"}})
)

# sentence: (volume of the restore, existing volume, whether it is accepted)
VOLUMES: dict[str, tuple[JobOverrides, str, bool]] = {
    "that of the cluster": (JobOverrides(), "snapshots", True),
    "that of the cluster is missing": (JobOverrides(), "", False),
    "another one": (JobOverrides(claim="other"), "other", True),
    "another one is missing": (JobOverrides(claim="other"), "snapshots", False),
    "a store in the network": (JobOverrides(claim=""), "", True),
}


@pytest.mark.parametrize(("overrides", "there", "enough"), VOLUMES.values(), ids=VOLUMES)
async def test_volume_of_snapshots(overrides: JobOverrides, there: str, enough: bool) -> None:
    bench = Bench().having(SERVICE_ACCOUNT, ACCOUNT)
    if there:
        bench.having(PVC, there)
    outcome = await bench.of(VOLUME, overrides)
    if enough:
        assert isinstance(outcome, JobTemplate)
    else:
        assert isinstance(outcome, Blocked)
        assert outcome.reason == "SnapshotVolumeMissing"
        assert "create it" in outcome.message
