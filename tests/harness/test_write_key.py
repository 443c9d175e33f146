"""e2e.harness.write_key: a write has the same name in each run."""

import orjson
import pytest

from e2e.harness.write_key import WriteKey, of_request

JOBS = "/apis/batch/v1/namespaces/x/jobs"


def body(name: str) -> bytes:
    return orjson.dumps({"metadata": {"name": name}})


@pytest.mark.parametrize(
    ("name", "lasting"),
    [
        ("upgrade-bao-stepdown-0123456789", "upgrade-bao-stepdown"),
        ("backup-nightly-x", "backup-nightly-x"),
    ],
)
def test_the_creation_of_a_job(name: str, lasting: str) -> None:
    uri = f"{JOBS}?fieldManager=me"
    key = WriteKey("create", "jobs", "", lasting, "me")
    assert of_request("POST", uri, body(name)) == key


def test_the_key_of_an_event_has_no_name() -> None:
    uri = "/apis/events.k8s.io/v1/namespaces/x/events"
    key = WriteKey("create", "events", "", "", "")
    assert of_request("POST", uri, body("bao.17")) == key


def test_the_keys_of_a_status_and_a_pod() -> None:
    status = "/apis/openbao.org/v1alpha1/namespaces/x/openbaoclusters/bao/status?fieldManager=m"
    key = WriteKey("patch", "openbaoclusters", "status", "bao", "m")
    assert of_request("PATCH", status, None) == key
    pod = "/api/v1/namespaces/x/pods/bao-0"
    assert of_request("DELETE", pod, None) == WriteKey("delete", "pods", "", "bao-0", "")
