"""Labels, selectors, and the labels that a server writes."""

import pytest

from contracts.naming import labels


def test_every_selector_matches_the_server_pods_and_no_job() -> None:
    server = labels.server_pod("c")
    job = labels.component("c", "backup")
    assert labels.voters("c").items() <= server.items()
    assert not labels.voters("c").items() <= job.items()
    assert labels.base("c").items() <= job.items()


def test_the_labels_are_the_documented_ones() -> None:
    assert labels.server_pod("c") == {
        "app.kubernetes.io/name": "openbao",
        "app.kubernetes.io/instance": "c",
        "app.kubernetes.io/managed-by": "openbao-operator",
        "openbao.org/cluster": "c",
        "openbao.org/component": "openbaocluster",
        "openbao.org/workload-pool": "voter",
    }


def test_the_text_of_a_selector_does_not_depend_on_the_order() -> None:
    assert labels.selector_text({"b": "2", "a": "1"}) == "a=1,b=2"
    assert labels.selector_text({"a": "1", "b": "2"}) == "a=1,b=2"
    assert labels.selector_text({}) == ""


def test_the_leader_is_selected_by_the_label_of_the_server() -> None:
    assert labels.leader("c") == {**labels.servers("c"), "openbao-active": "true"}


def test_a_missing_label_means_unknown() -> None:
    assert labels.registration({}) == labels.Registration()


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("true", True),
        ("false", False),
        (" True ", True),
        ("FALSE", False),
        ("", None),
        (" ", None),
        ("yes", None),
        ("1", None),
    ],
)
def test_a_registration_label_is_read_as_a_boolean(text: str, truth: bool | None) -> None:
    read = labels.registration(
        {"openbao-active": text, "openbao-initialized": text, "openbao-sealed": text}
    )
    assert (read.active, read.initialized, read.sealed) == (truth, truth, truth)


def test_the_version_is_trimmed_and_lower_case() -> None:
    assert labels.registration({"openbao-version": " 2.4.0-HSM "}).version == "2.4.0-hsm"
    assert labels.registration({"openbao-version": " "}).version is None
