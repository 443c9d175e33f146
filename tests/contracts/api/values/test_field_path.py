"""Values of a spec by their path."""

from contracts.api.values.field_path import value_at, values_at
from tests.contracts.api.clusters import cluster, with_request


def test_a_path_goes_through_lists() -> None:
    spec = cluster(
        imagePullSecrets=[{"name": "a"}, {"name": "b"}], selfInit=with_request(when=False)
    ).spec
    assert list(values_at(spec, "imagePullSecrets[].name")) == [
        ("imagePullSecrets[0].name", "a"),
        ("imagePullSecrets[1].name", "b"),
    ]
    assert list(values_at(spec, "selfInit.requests[].when")) == [
        ("selfInit.requests[0].when", False)
    ]


def test_a_list_at_the_end_of_a_path_gives_its_items() -> None:
    spec = cluster(tls={"extraSANs": ["a", "b"]}).spec
    assert list(values_at(spec, "tls.extraSANs[]")) == [
        ("tls.extraSANs[0]", "a"),
        ("tls.extraSANs[1]", "b"),
    ]


def test_an_absent_field_has_no_values() -> None:
    spec = cluster().spec
    assert list(values_at(spec, "backup.target.endpoint")) == []
    assert value_at(spec, "backup.target.endpoint") is None
    assert value_at(spec, "tls.mode") == "OperatorManaged"
