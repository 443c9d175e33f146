"""managers.certs.condition: the condition TLSReady."""

from dataclasses import replace

from contracts.conditions.condition import ConditionUpdate
from contracts.records.observed import Observed
from managers.certs.condition import tls_ready
from runtime.outcome import Blocked, Done, Outcome, Wait
from tests import gen
from tests.gen.worlds import SERVER_FINGERPRINT, authority_certificate

LEAF = replace(gen.certificate(fingerprint=SERVER_FINGERPRINT), serial="2a")
WORLD = gen.world().with_secrets(gen.secret("s", certificate=LEAF))


def condition_of(facts: Observed, outcome: Outcome | None = None) -> ConditionUpdate:
    return tls_ready("OperatorManaged", "s", facts, outcome or Done())


def test_all_servers_serve_the_certificate() -> None:
    update = condition_of(WORLD.with_pods(gen.pod().ready()).facts())
    assert (update.status, update.reason) == ("True", "Ready")
    assert "2030-10-28" in update.message


def test_servers_with_an_old_certificate_are_counted_and_named() -> None:
    pods = (gen.pod(0).ready(), gen.pod(1).ready(), gen.pod(2).ready().serving("older"))
    update = condition_of(WORLD.with_pods(*pods).facts())
    assert (update.status, update.reason) == ("False", "CertificateNotServed")
    assert "2 of 3 pods serve the new certificate (serial 2a)" in update.message
    assert "x-2" in update.message


def test_a_pod_that_is_not_ready_is_not_counted() -> None:
    pods = (gen.pod(0).ready(), gen.pod(1).unready())
    assert condition_of(WORLD.with_pods(*pods).facts()).status == "True"


def test_servers_that_were_not_probed_are_not_reported() -> None:
    facts = WORLD.with_pods(gen.pod().ready()).facts()
    unprobed = replace(facts, pods=tuple(replace(pod, serves=None) for pod in facts.pods))
    assert condition_of(unprobed).status == "True"


def test_a_server_that_does_not_answer_is_reported() -> None:
    update = condition_of(WORLD.with_pods(gen.pod(0).ready().serving("")).facts())
    assert (update.status, update.reason) == ("Unknown", "Unknown")
    assert "cannot connect to port 8200 of x-0" in update.message
    pods = (gen.pod(0).ready().serving(""), gen.pod(1).ready().serving("older"))
    update = condition_of(WORLD.with_pods(*pods).facts())
    assert update.reason == "CertificateNotServed"
    assert update.message.endswith("not yet: x-1")


def test_the_condition_repeats_the_outcome() -> None:
    for outcome in (Blocked("TLSSecretInvalid", "why"), Wait("TLSSecretMissing", "why")):
        update = condition_of(WORLD.facts(), outcome)
        assert (update.status, update.reason, update.message) == ("False", outcome.reason, "why")
    other = condition_of(WORLD.facts(), Blocked("InvalidSpec", "why"))
    assert other.status == "True"


def test_the_message_names_a_second_ca() -> None:
    ca = gen.secret("ca", certificate=authority_certificate())
    second = replace(LEAF, serial="7b")
    for field, word in (({"upcoming": second}, "signs later"), ({"former": second}, "former")):
        facts = WORLD.with_secrets(replace(ca, **field)).facts()  # type: ignore[arg-type]
        assert word in condition_of(facts).message
        assert "7b" in condition_of(facts).message


def test_missing_foreign_and_invalid_secrets() -> None:
    assert condition_of(gen.world().facts()).reason == "TLSSecretMissing"
    foreign = gen.world().with_secrets(gen.secret("s", of="Shop", certificate=LEAF)).facts()
    assert condition_of(foreign).reason == "ForeignObject"
    assert tls_ready("External", "s", foreign, Done()).status == "True"
    broken = gen.world().with_secrets(gen.secret("s", problem="soup")).facts()
    assert condition_of(broken).reason == "TLSSecretInvalid"


def test_in_mode_acme_a_ready_server_has_a_certificate() -> None:
    assert tls_ready("ACME", None, gen.world().facts(), Done()).status == "Unknown"
    facts = gen.world().with_pods(gen.pod().ready()).facts()
    assert tls_ready("ACME", None, facts, Done()).status == "True"
