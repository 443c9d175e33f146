"""The names and the labels of voter pools."""

from __future__ import annotations

from typing import Any

import pytest

from contracts.api.cluster.read_replicas import READ_REPLICAS_MAX
from contracts.api.cluster.spec import VOTERS_MAX
from contracts.naming import labels, names
from contracts.naming.revision_patterns import stateful_set_of
from contracts.pools.voter_pool import ServerPool, serving_pool, voter_pools
from tests import gen

REVISION = "0123456789abcdef"
OTHER = "fedcba9876543210"
PLAIN, NEWER = ServerPool("c"), ServerPool("c", REVISION)
LONGEST = "a" + "b" * 39
LENGTHS = (1, 2, 22, 23, 24, 34, 35, 36, 39, 40)


class TestNames:
    def test_the_pool_without_a_revision_has_the_plain_names(self) -> None:
        assert (PLAIN.stateful_set, PLAIN.config_map) == ("c", "c-config")
        assert (PLAIN.pod(2), PLAIN.data_claim(2)) == (names.pod("c", 2), names.data_claim("c", 2))
        assert PLAIN.pod_dns("ns", 1) == "c-1.c.ns.svc"

    def test_the_read_pool_has_its_own_names(self) -> None:
        reads = ServerPool("c", reads=True)
        assert reads.stateful_set == names.read_stateful_set("c")
        assert reads.config_map == names.read_config_map("c")
        assert reads.pod(2) == names.read_pod("c", 2)
        assert reads.data_claim(2) == names.read_data_claim("c", 2)
        assert reads.ordinal_of(names.read_pod("c", 2)) == 2
        assert (reads.ordinal_of(PLAIN.pod(2)), PLAIN.ordinal_of(reads.pod(2))) == (None, None)
        assert reads.claim_ordinal_of(names.read_data_claim("c", 2)) == 2
        assert reads.selector == labels.read_replicas("c")
        assert reads.pod_labels == labels.read_pod("c")
        assert (PLAIN.size_max, reads.size_max) == (VOTERS_MAX, READ_REPLICAS_MAX)

    def test_every_name_of_a_pool_has_its_revision(self) -> None:
        assert NEWER.stateful_set == f"c-{REVISION}"
        assert NEWER.config_map == f"c-{REVISION}-config"
        assert (NEWER.pod(2), NEWER.data_claim(2)) == (f"c-{REVISION}-2", f"data-c-{REVISION}-2")
        assert NEWER.pod_dns("ns", 1) == f"c-{REVISION}-1.c.ns.svc"

    @pytest.mark.parametrize("length", LENGTHS)
    def test_a_pod_name_fits_the_controller_revision_label(self, length: int) -> None:
        pool = ServerPool(LONGEST[:length], REVISION)
        assert len(f"{pool.stateful_set}-{'x' * 10}") <= 63
        assert len(pool.pod(99)) <= 63
        assert pool.stateful_set.startswith(f"{LONGEST[:length]}-01234567")

    @pytest.mark.parametrize(
        "revision", ["x", "0" * 15, "0" * 17, REVISION.upper(), f"{REVISION}\n"]
    )
    def test_an_invalid_revision_is_refused(self, revision: str) -> None:
        with pytest.raises(ValueError, match="not a revision"):
            ServerPool("c", revision)

    @pytest.mark.parametrize("cluster", ["", "A", "a-read", f"a-{REVISION}", "a" * 41])
    @pytest.mark.parametrize("revision", ["", REVISION])
    def test_an_invalid_cluster_name_is_refused(self, cluster: str, revision: str) -> None:
        with pytest.raises(ValueError, match="must be 1 to 40"):
            _ = ServerPool(cluster, revision).stateful_set

    def test_a_negative_ordinal_is_refused(self) -> None:
        with pytest.raises(ValueError, match="ordinal"):
            NEWER.pod(-1)


class TestOrdinals:
    @pytest.mark.parametrize("voters", [PLAIN, NEWER, ServerPool(LONGEST, REVISION)])
    @pytest.mark.parametrize("ordinal", [0, 1, 12])
    def test_a_pool_recognizes_its_pods_and_claims(self, voters: ServerPool, ordinal: int) -> None:
        assert voters.ordinal_of(voters.pod(ordinal)) == ordinal
        assert voters.claim_ordinal_of(voters.data_claim(ordinal)) == ordinal

    def test_a_pool_ignores_pods_of_other_pools(self) -> None:
        sets = (PLAIN, NEWER, ServerPool("c", OTHER))
        for item in sets:
            strangers = [other.pod(0) for other in sets if other != item]
            strangers += [names.read_pod("c", 0), "d-0", item.stateful_set]
            assert [item.ordinal_of(pod) for pod in strangers] == [None] * len(strangers)
            assert item.claim_ordinal_of(item.pod(0)) is None

    @pytest.mark.parametrize("length", LENGTHS)
    def test_the_pod_name_gives_the_stateful_set(self, length: int) -> None:
        cluster = LONGEST[:length]
        for voters in (ServerPool(cluster), ServerPool(cluster, REVISION)):
            assert stateful_set_of(cluster, voters.pod(1)) == voters.stateful_set


class TestTwoClusters:
    def test_no_pool_name_is_a_cluster_name(self) -> None:
        for length in range(1, 41):
            pool = ServerPool(LONGEST[:length], REVISION)
            assert not names.is_cluster_name(pool.stateful_set), length

    @pytest.mark.parametrize(
        "name", ["a-0123456789abcde", "a-0123456789abcdef0", "a-backup-decade"]
    )
    def test_other_names_with_digits_are_cluster_names(self, name: str) -> None:
        assert names.is_cluster_name(name)


class TestLabels:
    def test_the_labels_of_the_first_pool_have_no_revision(self) -> None:
        assert PLAIN.selector == labels.voters("c")
        assert PLAIN.pod_labels == labels.server_pod("c")

    def test_a_pool_with_a_revision_has_one_more_label(self) -> None:
        assert NEWER.selector == {**PLAIN.selector, labels.REVISION: REVISION}
        assert NEWER.pod_labels == {**PLAIN.pod_labels, labels.REVISION: REVISION}

    @pytest.mark.parametrize("voters", [PLAIN, NEWER])
    def test_a_pool_and_all_services_select_its_pods(self, voters: ServerPool) -> None:
        assert voters.selector.items() <= voters.pod_labels.items()
        assert labels.servers("c").items() <= voters.pod_labels.items()


def status(**blue_green: Any) -> dict[str, Any]:
    return {"blueGreen": blue_green}


class TestOfACluster:
    def test_without_a_revision_in_the_status_the_first_pool_serves(self) -> None:
        for cluster in (gen.cluster(), gen.cluster().with_status(**status(phase="Idle"))):
            read = cluster.read()
            assert serving_pool(read) == ServerPool("x")
            assert voter_pools(read) == (ServerPool("x"),)

    def test_blue_serves_and_green_is_the_second_pool(self) -> None:
        bluegreen = status(blueRevision=REVISION, greenRevision=OTHER)
        assert voter_pools(gen.cluster().with_status(**bluegreen).read()) == (
            ServerPool("x", REVISION),
            ServerPool("x", OTHER),
        )
        first = gen.cluster().with_status(**status(greenRevision=OTHER)).read()
        assert voter_pools(first) == (ServerPool("x"), ServerPool("x", OTHER))

    def test_a_promoted_green_pool_is_listed_once(self) -> None:
        bluegreen = status(blueRevision=REVISION, greenRevision=REVISION)
        assert voter_pools(gen.cluster().with_status(**bluegreen).read()) == (
            ServerPool("x", REVISION),
        )

    @pytest.mark.parametrize("lie", ["", "b", "../x", REVISION.upper(), f"{REVISION}0"])
    def test_an_invalid_revision_in_the_status_is_ignored(self, lie: str) -> None:
        bluegreen = status(blueRevision=lie, greenRevision=lie)
        assert voter_pools(gen.cluster().with_status(**bluegreen).read()) == (ServerPool("x"),)
