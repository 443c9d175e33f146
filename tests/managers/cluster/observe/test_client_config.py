"""Which CA the operator trusts, also during a change of certificates (B-12)."""

from dataclasses import replace

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.records.observed import PodFacts, ServerClientConfig
from contracts.records.secrets import SecretFacts
from managers.cluster.observe.client_config import client_config_of, tls_secrets
from tests import gen

NAME = "openbao-cluster-x.local"
REFS = {"serverSecretRef": {"name": "mine"}, "caSecretRef": {"name": "roots"}}
EXTERNAL = gen.cluster().with_spec(tls={"mode": "External", "external": REFS}).read()
OURS = gen.cluster().read()


def acme(**settings: object) -> OpenBaoCluster:
    wish = {"directoryURL": "https://acme.example.com/dir", **settings}
    return gen.cluster().with_spec(tls={"mode": "ACME", "acme": wish}).read()


def secret(name: str, authority: str, *, of: str = "") -> SecretFacts:
    return replace(gen.secret(name, of=of), authority=authority)


def pods(*secrets: str) -> tuple[PodFacts, ...]:
    return tuple(
        replace(gen.pod(n).ready().facts(), tls_secret=name) for n, name in enumerate(secrets)
    )


def client_config(
    cluster: OpenBaoCluster, *secrets: SecretFacts, on: tuple[str, ...]
) -> ServerClientConfig | None:
    return client_config_of(cluster, {fact.name: fact for fact in secrets}, pods(*on))


def test_our_own_ca_and_not_a_foreign_one_is_trusted() -> None:
    config = client_config(OURS, secret("x-tls-server", "A"), on=("x-tls-server",))
    assert config == ServerClientConfig("A\n", NAME)
    assert client_config(OURS, secret("x-tls-server", "A", of="Shop"), on=()) is None
    assert client_config(OURS, on=()) is None


def test_non_ascii_comments_in_a_bundle_are_accepted() -> None:
    """The TLS library accepts only ASCII, and the bundle of all public CAs has other characters."""
    reach = client_config(OURS, secret("x-tls-server", "# Fő\nA"), on=("x-tls-server",))
    assert reach == ServerClientConfig("# F?\nA\n", NAME)
    roots = secret("roots", "# Fő\nA", of="nobody")
    assert client_config(acme(caSecretRef={"name": "roots"}), roots, on=()) == ServerClientConfig(
        "# F?\nA", "x-acme.ns.svc"
    )


def test_b12_during_a_switch_both_kinds_of_servers_are_trusted() -> None:
    """Pods are replaced one at a time: some still serve the certificate of the former Secret."""
    ours, mine = secret("x-tls-server", "A"), secret("mine", "B", of="nobody")
    assert tls_secrets(EXTERNAL, pods("x-tls-server", "mine")) == ("roots", "mine", "x-tls-server")
    there = client_config(EXTERNAL, ours, mine, on=("x-tls-server", "mine"))
    assert there == ServerClientConfig("B\nA\n", NAME)
    back = client_config(OURS, ours, mine, on=("mine", "mine"))
    assert back == ServerClientConfig("A\nB\n", NAME)
    over = client_config(EXTERNAL, ours, mine, on=("mine", "mine"))
    assert over == ServerClientConfig("B\n", NAME)


def test_an_acme_server_is_trusted_by_its_secret_or_as_the_host_trusts_it() -> None:
    assert client_config(acme(), on=("", "")) == ServerClientConfig("", "x-acme.ns.svc")
    private = acme(caSecretRef={"name": "roots"})
    assert client_config(private, on=()) is None
    config = client_config(private, secret("roots", "R", of="nobody"), on=())
    assert config == ServerClientConfig("R", "x-acme.ns.svc")
