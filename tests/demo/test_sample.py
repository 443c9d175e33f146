"""The sample that the demo applies, and the clusters that are derived from it."""

from contracts.api.cluster.spec import OpenBaoCluster
from e2e.demo.data_check import AUDIENCE, MOUNT
from e2e.demo.sample import Sample, is_marked, with_mark
from e2e.measure.concurrent_clusters import CONCURRENT_NAMESPACE, single


def test_the_sample_has_three_servers_and_a_login_for_the_application() -> None:
    sample = Sample.load()
    assert (sample.home, sample.name) == ("openbao-quickstart", "quickstart")
    assert sample.replicas == 3
    requests = sample.cluster["spec"]["selfInit"]["requests"]
    paths = {request["path"]: request for request in requests}
    role = paths[f"auth/{MOUNT}/role/{sample.application}"]["data"]
    assert role["bound_audiences"] == [AUDIENCE]
    assert role["bound_subject"] == f"system:serviceaccount:{sample.home}:{sample.application}"


def test_the_mark_is_added_to_a_copy() -> None:
    sample = Sample.load()
    assert is_marked(with_mark(sample.cluster))
    assert not is_marked(sample.cluster)


def test_a_concurrent_cluster_is_valid_and_has_one_server() -> None:
    manifest = single(Sample.load(), 4)
    cluster = OpenBaoCluster.from_object(manifest)
    assert (cluster.metadata.name, cluster.metadata.namespace) == ("one-4", CONCURRENT_NAMESPACE)
    assert cluster.spec.replicas == 1
