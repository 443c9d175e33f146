"""e2e.harness.write_key: one write has one name, wherever it is seen."""

import orjson
import pytest

from e2e.harness.audit import Entry
from e2e.harness.write_key import WriteKey, of_entry, of_request

JOBS = "/apis/batch/v1/namespaces/x/jobs"


def entry(verb: str, resource: str, name: str, uri: str, subresource: str = "") -> Entry:
    return Entry("", "", "", verb, resource, subresource, "x", name, 201, "", uri)


def body(name: str) -> bytes:
    return orjson.dumps({"metadata": {"name": name}})


@pytest.mark.parametrize(
    ("name", "lasting"),
    [
        ("upgrade-bao-stepdown-0123456789", "upgrade-bao-stepdown"),
        ("backup-nightly-x", "backup-nightly-x"),
    ],
)
def test_a_job_is_made(name: str, lasting: str) -> None:
    uri = f"{JOBS}?fieldManager=me"
    wanted = WriteKey("create", "jobs", "", lasting, "me")
    assert of_request("POST", uri, body(name)) == wanted
    assert of_entry(entry("create", "jobs", name, uri)) == wanted


def test_an_event_has_no_name() -> None:
    uri = "/apis/events.k8s.io/v1/namespaces/x/events"
    wanted = WriteKey("create", "events", "", "", "")
    assert of_request("POST", uri, body("bao.17")) == wanted
    assert of_entry(entry("create", "events", "bao.17", uri)) == wanted


def test_a_status_and_a_pod() -> None:
    status = "/apis/openbao.org/v1alpha1/namespaces/x/openbaoclusters/bao/status?fieldManager=m"
    wanted = WriteKey("patch", "openbaoclusters", "status", "bao", "m")
    assert of_request("PATCH", status, None) == wanted
    assert of_entry(entry("patch", "openbaoclusters", "bao", status, "status")) == wanted
    pod = "/api/v1/namespaces/x/pods/bao-0"
    assert of_request("DELETE", pod, None) == of_entry(entry("delete", "pods", "bao-0", pod))
