"""The Jobs of backups, restores and restore tests: golden files and common properties."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.builders.job import backup_job, restore_job, restore_test_job, scratch_mib
from contracts.jobs.env import BackupEnv, Env, RestoreEnv, TestEnv
from contracts.jobs.template import JobLogin, JobTemplate
from contracts.naming import labels
from runtime.types import Object
from tests.contracts.builders.job_templates import CREDENTIALS, OPENSHIFT, PVC, S3, TAINTED, Server
from tests.gen.job_templates import KEY, backup_env, job_template, proof_env, restore_env, target

GOLDEN = Path(__file__).parent / "golden"
MIB = 1024 * 1024
IDENTITY: dict[str, Any] = {
    "workloadIdentity": {
        "podLabels": {"azure.workload.identity/use": "true", "openbao.org/component": "openbao"}
    }
}
S3_ROLE = target(roleArn="arn:aws:iam::123456789012:role/bao-backup")
GCS = target("gcs", gcs={"project": "production"}, **CREDENTIALS)
AZURE = target("azure", azure={"storageAccount": "baobackups"}, **IDENTITY)
TOKEN = job_template(login=JobLogin(token_secret="a-token"))


CASES: dict[str, Object] = {
    "backup-s3": backup_job(job_template(), S3, backup_env(S3)),
    "backup-s3-role": backup_job(TOKEN, S3_ROLE, backup_env(S3_ROLE, TOKEN)),
    "backup-gcs": backup_job(TAINTED, GCS, backup_env(GCS, TAINTED)),
    "backup-azure-identity": backup_job(OPENSHIFT, AZURE, backup_env(AZURE, OPENSHIFT)),
    "backup-pvc": backup_job(job_template(), PVC, backup_env(PVC)),
    "restore-s3": restore_job(job_template(), S3, restore_env(S3)),
    "restore-pvc": restore_job(job_template(), PVC, restore_env(PVC, size=512 * MIB)),
    "restore-test-s3": restore_test_job(job_template(), S3, proof_env(S3), Server()),
}


@pytest.mark.parametrize("case", CASES)
def test_a_job_matches_its_golden_file(case: str) -> None:
    """UPDATE_GOLDEN=1 writes it anew; read the difference before it is committed."""
    text = yaml.safe_dump(CASES[case], sort_keys=False, width=1000)
    file = GOLDEN / f"{case}.yaml"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


def pod_of(job: Object) -> Any:
    return job["spec"]["template"]["spec"]


def main(job: Object) -> Any:
    (container,) = pod_of(job)["containers"]
    return container


def variables(job: Object) -> dict[str, str]:
    """The environment of the container after the kubelet has expanded it."""
    values = {
        variable["name"]: variable["value"] for variable in main(job)["env"] if "value" in variable
    }
    downward = {variable["name"]: "x" for variable in main(job)["env"] if "valueFrom" in variable}
    return {name: value.replace("$$", "$") for name, value in values.items()} | downward


@pytest.mark.parametrize("case", CASES)
def test_a_job_runs_at_most_once(case: str) -> None:
    spec = CASES[case]["spec"]
    assert spec["backoffLimit"] == 0
    assert spec["podReplacementPolicy"] == "Failed"
    assert pod_of(CASES[case])["restartPolicy"] == "Never"
    assert "ttlSecondsAfterFinished" not in spec
    assert spec["activeDeadlineSeconds"] > 0


@pytest.mark.parametrize("case", CASES)
def test_a_job_meets_the_restricted_pod_standard_and_quotas(case: str) -> None:
    pod = pod_of(CASES[case])
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert main(CASES[case])["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
    }
    assert pod["automountServiceAccountToken"] is False
    for part in ("requests", "limits"):
        assert set(main(CASES[case])["resources"][part]) == {"cpu", "memory", "ephemeral-storage"}
    folders = [volume for volume in pod["volumes"] if "emptyDir" in volume]
    bounded = [folder for folder in folders if not folder["name"].startswith("throw-away")]
    assert all(folder["emptyDir"]["sizeLimit"] for folder in bounded)


@pytest.mark.parametrize("case", CASES)
def test_every_volume_is_mounted_and_every_mount_has_its_volume(case: str) -> None:
    known = {volume["name"] for volume in pod_of(CASES[case])["volumes"]}
    mounts = main(CASES[case])["volumeMounts"]
    used = {mount["name"] for mount in mounts}
    assert used == {name for name in known if not name.startswith("throw-away")}
    assert len({mount["mountPath"] for mount in mounts}) == len(mounts)
    writable = {mount["name"] for mount in mounts if not mount.get("readOnly")}
    assert writable <= {"tmp", "scratch", "snapshots"}


@pytest.mark.parametrize("case", CASES)
def test_a_job_is_not_selected_as_a_server(case: str) -> None:
    """Even if the spec has labels of the operator, by which Services and policies select."""
    for metadata in (CASES[case]["metadata"], CASES[case]["spec"]["template"]["metadata"]):
        assert metadata["labels"][labels.COMPONENT] in labels.JOBS
        assert metadata["labels"][labels.CLUSTER] == "x"
        assert labels.WORKLOAD_POOL not in metadata["labels"]
        assert metadata["annotations"][labels.BACKUP_KEY] == KEY


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("backup-s3", BackupEnv),
        ("backup-s3-role", BackupEnv),
        ("backup-gcs", BackupEnv),
        ("backup-azure-identity", BackupEnv),
        ("backup-pvc", BackupEnv),
        ("restore-s3", RestoreEnv),
        ("restore-test-s3", TestEnv),
    ],
)
def test_the_executor_reads_its_environment(case: str, kind: type[Env]) -> None:
    environment = kind.from_environment(variables(CASES[case]))
    assert environment.run.job_uid == environment.run.pod_uid == "x"  # type: ignore[attr-defined]
    files = {volume_mount["mountPath"] for volume_mount in main(CASES[case])["volumeMounts"]}
    store = environment.store  # type: ignore[attr-defined]
    for path in (store.credentials_path, store.volume_path):
        assert not path or path in files
    if store.web_identity_path:
        assert store.web_identity_path.rpartition("/")[0] in files


def test_a_dollar_in_a_value_is_escaped() -> None:
    where = target(pathPrefix="a")
    env = backup_env(where, job_template(server_name="$(HOME)"))
    values = {
        variable["name"]: variable.get("value")
        for variable in main(backup_job(job_template(), where, env))["env"]
    }
    assert values["TLS_SERVER_NAME"] == "$$(HOME)"


def secrets(job: Object) -> dict[str, list[str] | None]:
    return {
        volume["secret"]["secretName"]: [
            item["key"] for item in volume["secret"].get("items") or ()
        ]
        for volume in pod_of(job)["volumes"]
        if "secret" in volume
    }


def test_only_the_ca_of_the_server_secret_is_mounted() -> None:
    assert secrets(CASES["backup-s3"]) == {"x-tls-server": ["ca.crt"], "store": []}


def test_a_restore_test_mounts_no_ca_and_pulls_both_images() -> None:
    job = CASES["restore-test-s3"]
    assert secrets(job) == {"store": []}
    assert pod_of(job)["imagePullSecrets"] == [{"name": "servers"}]
    assert [init_container["name"] for init_container in pod_of(job)["initContainers"]] == [
        "openbao"
    ]
    assert job["spec"]["template"]["metadata"]["annotations"]["openbao.org/config"] == "ui = true"


def tokens(job: Object) -> dict[str, str]:
    volumes = {}
    for volume in pod_of(job)["volumes"]:
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token:
                volumes[volume["name"]] = token.get("audience", "")
    return volumes


def test_a_token_is_for_one_audience_and_only_where_it_is_used() -> None:
    own = {"api-token": ""}
    assert tokens(CASES["backup-s3"]) == {**own, "login-token": "openbao-internal/ns/x"}
    assert tokens(CASES["backup-s3-role"]) == {**own, "cloud-token": "sts.amazonaws.com"}
    assert secrets(CASES["backup-s3-role"])["a-token"] == ["token"]


def identity(executor_: JobTemplate) -> dict[str, Any]:
    security_context: dict[str, Any] = pod_of(backup_job(executor_, S3, backup_env(S3)))[
        "securityContext"
    ]
    return security_context


def test_without_fixed_ids_no_user_and_no_group_is_set() -> None:
    assert {"runAsUser", "runAsGroup", "fsGroup"} <= set(identity(job_template()))
    assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(identity(job_template(fixed_ids=False)))


def test_only_backups_mount_the_snapshot_volume_writable() -> None:
    def mount(case: str) -> Any:
        return next(
            volume_mount
            for volume_mount in main(CASES[case])["volumeMounts"]
            if volume_mount["name"] == "snapshots"
        )

    assert "readOnly" not in mount("backup-pvc")
    assert mount("restore-pvc")["readOnly"] is True


# sentence: (part size in MiB, concurrent parts, memory request, memory limit)
BUFFERS: dict[str, tuple[int, int, str, str]] = {
    "the defaults": (10, 3, "128Mi", "512Mi"),
    "a little more": (16, 4, "160Mi", "576Mi"),
    "large parts": (512, 10, "5216Mi", "10688Mi"),
}


@pytest.mark.parametrize(("size", "count", "least", "limit"), BUFFERS.values(), ids=BUFFERS.keys())
def test_the_memory_request_covers_concurrent_uploads(
    size: int, count: int, least: str, limit: str
) -> None:
    where = target(partSize=size * MIB, concurrency=count)
    resources = main(backup_job(job_template(), where, backup_env(where)))["resources"]
    assert (resources["requests"]["memory"], resources["limits"]["memory"]) == (least, limit)


def test_scratch_storage_is_requested_when_the_size_is_known() -> None:
    room = scratch_mib(512 * MIB)
    assert room > 512
    known, unknown = CASES["restore-pvc"], CASES["restore-s3"]
    ephemeral_storages = [
        main(job)["resources"]["requests"]["ephemeral-storage"] for job in (known, unknown)
    ]
    assert ephemeral_storages == [f"{room + 128}Mi", "128Mi"]
    limit = main(unknown)["resources"]["limits"]["ephemeral-storage"]
    assert limit == f"{scratch_mib(0) + 128}Mi"


def test_labels_of_the_caller_do_not_replace_ours() -> None:
    more = {"openbao.org/backup-type": "manual", labels.COMPONENT: "openbao"}
    job_labels = backup_job(job_template(), S3, backup_env(S3), more)["metadata"]["labels"]
    assert job_labels["openbao.org/backup-type"] == "manual"
    assert job_labels[labels.COMPONENT] == "backup"
