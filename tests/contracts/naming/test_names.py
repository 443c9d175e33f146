"""Names of objects and hosts."""

import re
from collections.abc import Callable

import pytest

from contracts.naming import names
from contracts.pools.voter_pool import ServerPool

LONGEST = "a" + "b" * 39

OF_CLUSTER: dict[Callable[[str], str], str] = {
    names.stateful_set: "c",
    names.headless_service: "c",
    names.public_service: "c-public",
    names.active_service: "c-active",
    names.config_map: "c-config",
    names.self_init_config_map: "c-config-init",
    names.unseal_key_secret: "c-unseal-key",
    names.root_token_secret: "c-root-token",
    names.tls_ca_secret: "c-tls-ca",
    names.tls_server_secret: "c-tls-server",
    names.network_policy: "c-network-policy",
    names.pod_disruption_budget: "c-pdb",
    names.service_account: "c-serviceaccount",
    names.raft_server_name: "openbao-cluster-c.local",
}


@pytest.mark.parametrize("name", OF_CLUSTER, ids=lambda function: function.__name__)
def test_a_name_is_the_documented_one(name: Callable[[str], str]) -> None:
    assert name("c") == OF_CLUSTER[name]


def test_the_names_of_all_unseal_keys_are_those_of_each() -> None:
    each = tuple(names.unseal_key_secret("c", generation) for generation in range(1, 4))
    assert names.unseal_key_secrets("c", 3) == each
    assert names.unseal_key_secrets("c", 1) == each[:1]


@pytest.mark.parametrize("name", OF_CLUSTER, ids=lambda function: function.__name__)
def test_the_longest_cluster_name_fits_a_dns_label(name: Callable[[str], str]) -> None:
    assert all(len(label) <= 63 for label in name(LONGEST).split("."))


@pytest.mark.parametrize(
    "cluster",
    [
        "",
        "-a",
        "a-",
        "1a",
        "A",
        "a.b",
        "a/b",
        "../a",
        "a\n",
        "a" * 41,
        "a-public",
        "a-active",
        "a-read",
        "a-0123456789abcdef",
    ],
)
def test_an_invalid_cluster_name_is_refused(cluster: str) -> None:
    with pytest.raises(ValueError, match="must be 1 to 40"):
        names.config_map(cluster)


@pytest.mark.parametrize("name", OF_CLUSTER, ids=lambda function: function.__name__)
def test_an_invalid_cluster_name_gives_no_object_name(name: Callable[[str], str]) -> None:
    with pytest.raises(ValueError, match="must be 1 to 40"):
        name("a.b")


def test_pods_and_claims_are_numbered_as_the_statefulset_does() -> None:
    assert names.pod("c", 2) == "c-2"
    assert names.data_claim("c", 2) == "data-c-2"
    with pytest.raises(ValueError, match="ordinal"):
        names.pod("c", -1)


@pytest.mark.parametrize(
    ("pod", "ordinal"),
    [
        ("c-0", 0),
        ("c-12", 12),
        ("c-01", None),
        ("c-x", None),
        ("c-", None),
        ("c", None),
        ("cc-1", None),
        ("c-1-1", None),
        ("c-\u0661", None),
    ],
)
def test_the_ordinal_of_a_pod_is_read_from_its_name(pod: str, ordinal: int | None) -> None:
    assert names.ordinal_of("c", pod) == ordinal


def test_rights_are_named_after_the_service_account() -> None:
    account = names.service_account("c", "mine")
    assert (account, names.role(account), names.role_binding(account)) == (
        "mine",
        "mine-role",
        "mine-rolebinding",
    )
    assert names.service_account("c", "") == "c-serviceaccount"


def test_a_service_account_name_leaves_room_for_its_suffixes() -> None:
    longest = "a" * names.SERVICE_ACCOUNT_NAME_MAX
    assert len(names.role_binding(names.service_account("c", longest))) <= 253
    with pytest.raises(ValueError, match="characters"):
        names.service_account("c", longest + "a")
    with pytest.raises(ValueError, match="object"):
        names.role("")


def test_dns_names_of_pods_and_services() -> None:
    assert ServerPool("c").pod_dns("ns", 1) == "c-1.c.ns.svc"
    assert names.service_dns_names("c-public", "ns") == (
        "c-public",
        "c-public.ns",
        "c-public.ns.svc",
        "c-public.ns.svc.cluster.local",
    )


def test_the_certificate_names_cover_every_address_of_a_server() -> None:
    listed = names.server_dns_names("c", "ns")
    expected = {
        "localhost",
        names.raft_server_name("c"),
        *names.service_dns_names(names.headless_service("c"), "ns"),
        *names.service_dns_names(names.public_service("c"), "ns"),
        *names.service_dns_names(names.active_service("c"), "ns"),
    }
    assert expected <= set(listed)
    for voters in (ServerPool("c"), ServerPool("c", "0123456789abcdef")):
        pod = voters.pod_dns("ns", 7)
        for name in (pod, f"{pod}.cluster.local"):
            _, _, parent = name.partition(".")
            assert f"*.{parent}" in listed
    assert list(listed) == sorted(set(listed))


def test_two_clusters_never_share_an_object_name() -> None:
    """The reason for the reserved suffixes: no name of one cluster is a name of another."""
    of_service = {names.headless_service("c"), names.public_service("c")}
    assert not any(names.is_cluster_name(name) for name in of_service - {"c"})


def test_the_pattern_of_cluster_names_matches_the_check() -> None:
    for name in ("a", "a-b", "a1", LONGEST):
        assert re.search(names.CLUSTER_NAME_PATTERN, name)
        assert names.is_cluster_name(name)


# sentence: (what for, the name of the run, the name of its Job)
RUNS: dict[str, tuple[names.Run, str, str]] = {
    "as it is": ("backup", "x-20260101-030000", "backup-x-20260101-030000"),
    "as long as a label": ("backup", "a" * 56, "backup-" + "a" * 56),
    "too long": ("backup", "a" * 57, "backup-" + "a" * 47 + "-f13b2d72"),
    "with dots": ("restore", "of.monday", "restore-of-monday-51498686"),
    "cut at a dash": ("test", "a" * 48 + "-" + "b" * 20, "test-" + "a" * 48 + "-"),
}


@pytest.mark.parametrize(("run", "name", "job"), RUNS.values(), ids=RUNS.keys())
def test_the_job_name_of_a_run_fits_a_label(run: names.Run, name: str, job: str) -> None:
    job_name = names.run_job(run, name)
    assert len(job_name) <= 63
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", job_name)
    assert job_name.startswith(job)


def test_two_runs_have_different_job_names() -> None:
    runs: list[tuple[names.Run, str]] = [
        ("backup", "a.b"),
        ("backup", "a-b"),
        ("test", "a-b"),
        ("restore", "a-b"),
        ("restore", "test-a-b"),
        ("backup", "a" * 60 + "b"),
        ("backup", "a" * 60 + "c"),
    ]
    assert len({names.run_job(*run) for run in runs}) == len(runs)
