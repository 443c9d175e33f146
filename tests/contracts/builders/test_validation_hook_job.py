"""The Job of the validation hook: its image, its limits and its missing privileges."""

from typing import Any

import pytest

from contracts.api.cluster.upgrade import PrePromotionHook
from contracts.builders.validation_hook_job import HookRun, belongs, hook_job
from contracts.naming import labels
from runtime.types import Object

IMAGE = "registry.example.com/check@sha256:" + "0" * 64
RUN = HookRun("bao", "ns", "upgrade-bao-hook", "op", "rev", "hash", IMAGE, pull_secrets=("pull",))
HOOK = PrePromotionHook(image="registry.example.com/check:1", timeout_seconds=60)


def pod_of(job: Object) -> dict[str, Any]:
    spec: dict[str, Any] = job["spec"]["template"]["spec"]
    return spec


def container_of(job: Object) -> dict[str, Any]:
    (container,) = pod_of(job)["containers"]
    assert isinstance(container, dict)
    return container


JOB = hook_job(RUN, HOOK)


def test_the_job_is_created_suspended_and_runs_at_most_once() -> None:
    spec = JOB["spec"]
    assert (JOB["apiVersion"], JOB["kind"]) == ("batch/v1", "Job")
    assert spec["suspend"] is True
    assert spec["backoffLimit"] == 0
    assert spec["podReplacementPolicy"] == "Failed"
    assert spec["activeDeadlineSeconds"] == 60
    assert pod_of(JOB)["restartPolicy"] == "Never"
    # It is kept as evidence of its result.
    assert "ttlSecondsAfterFinished" not in spec


def test_the_pod_has_no_service_account_and_no_privileges() -> None:
    pod, container = pod_of(JOB), container_of(JOB)
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert [volume.keys() for volume in pod["volumes"]] == [{"name", "emptyDir"}]


def test_the_container_has_resource_limits() -> None:
    resources = container_of(JOB)["resources"]
    assert resources["requests"]["memory"] == "128Mi"
    assert resources["limits"]["memory"] == "512Mi"
    assert resources["limits"]["cpu"] == "500m"


def test_the_container_runs_the_verified_image() -> None:
    assert container_of(JOB)["image"] == IMAGE
    assert pod_of(JOB)["imagePullSecrets"] == [{"name": "pull"}]


def test_command_and_arguments_are_escaped() -> None:
    wish = HOOK.model_copy(update={"command": ("sh", "-c"), "args": ("echo $(HOME) $X",)})
    container = container_of(hook_job(RUN, wish))
    assert container["command"] == ["sh", "-c"]
    assert container["args"] == ["echo $$(HOME) $$X"]
    assert {"command", "args"}.isdisjoint(container_of(JOB))


@pytest.mark.parametrize("part", [JOB, JOB["spec"]["template"]])
def test_the_labels_are_those_of_a_job_and_not_of_a_server(part: Object) -> None:
    assert part["metadata"]["labels"][labels.COMPONENT] in labels.JOBS
    assert part["metadata"]["labels"][labels.CLUSTER] == "bao"


def test_the_annotations_identify_the_run() -> None:
    assert belongs(JOB, RUN)
    other = HookRun("bao", "ns", "upgrade-bao-hook", "op", "rev", "other", IMAGE)
    assert not belongs(JOB, other)
    assert not belongs({"metadata": {}}, RUN)


def test_without_fixed_ids_no_user_is_set() -> None:
    pod = pod_of(hook_job(HookRun("bao", "ns", "n", "o", "r", "h", IMAGE, fixed_ids=False), HOOK))
    assert "runAsUser" not in pod["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] is True
