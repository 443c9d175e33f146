"""The first boot is blocked while the server cannot encrypt to a recovery key."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from managers.cluster.resolve.resolve import resolve
from managers.cluster.resolve.resolve_now import resolve_now
from managers.recovery_keys.decide import FIRST_BOOT, check_recovery_keys
from runtime.outcome import Blocked
from tests import gen
from tests.contracts.api.cases_recovery import recovery
from tests.contracts.api.pgp_keys import EXPIRING_KEY, EXPIRING_SUBKEY, MADE, MONTH, NIST

START = datetime.fromtimestamp(MADE, UTC)
END = START + timedelta(seconds=MONTH)
SUBKEY = "subkey 2D0BDC3804F5463D of 60FA54A1D58DE161"
FIRST, SECOND = (f"spec.recoveryKeys.initial.recipients[{at}].pgpPublicKey" for at in (0, 1))
TRANSIT = {
    "type": "transit",
    "transit": {"address": "https://kms.example.com", "keyName": "k", "mountPath": "transit"},
}


def cluster(*keys: str) -> gen.Cluster:
    recipients: list[dict[str, Any]] = [{"pgpPublicKey": key} for key in keys]
    wish = recovery(len(keys), max(1, len(keys) - 1) if len(keys) > 2 else len(keys), *recipients)
    return gen.cluster(recoveryKeys=wish, unseal=TRANSIT).self_init()


# sentence: (key, time, end of the message, seconds until the next check)
INVALID: dict[str, tuple[str, datetime, str, float | None]] = {
    "an expired subkey": (
        EXPIRING_SUBKEY, END + timedelta(seconds=1), f"{SUBKEY} expires at 2026-12-24T12:00:00Z",
        None,
    ),
    "an expired key": (
        EXPIRING_KEY, END + timedelta(days=9),
        "subkey 6810CA0AA661E549 of AFC545D1F018C7FC expires at 2026-12-24T12:00:00Z", None,
    ),
    "a subkey that expires while the first server starts": (
        EXPIRING_SUBKEY, END - FIRST_BOOT + timedelta(seconds=1), "expires at 2026-12-24T12:00:00Z",
        None,
    ),
    "a key of the near future": (
        NIST, START - timedelta(seconds=40), "is valid from 2026-11-24T12:00:00Z", 40,
    ),
    "a key of the far future": (
        NIST, START - timedelta(days=40), "is valid from 2026-11-24T12:00:00Z", 3600,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("key", "now", "value", "again"), INVALID.values(), ids=INVALID.keys())
def test_a_key_that_is_not_valid_at_the_first_boot_is_refused(
    key: str, now: datetime, value: str, again: float | None
) -> None:
    refusal = gen.present(check_recovery_keys(cluster(key).read(), now))
    assert refusal.reason == "InvalidSpec"
    assert refusal.message.startswith(f"{FIRST}: must be valid now and for the next hour")
    assert "gpg --quick-set-expire" in refusal.message
    assert refusal.message.endswith(f"{value})")
    assert refusal.recheck_after == again


@pytest.mark.parametrize("now", [START, START + timedelta(days=1), END - FIRST_BOOT])
def test_a_valid_key_is_accepted(now: datetime) -> None:
    assert check_recovery_keys(cluster(EXPIRING_SUBKEY, EXPIRING_KEY).read(), now) is None


def test_a_cluster_without_recovery_keys_is_accepted() -> None:
    assert check_recovery_keys(gen.cluster().read(), START) is None


def test_every_invalid_recipient_is_named() -> None:
    refusal = gen.present(
        check_recovery_keys(cluster(EXPIRING_KEY, EXPIRING_SUBKEY).read(), END + timedelta(days=1))
    )
    assert FIRST in refusal.message
    assert SECOND in refusal.message


def _resolve(world: gen.World, wished: gen.Cluster) -> object:
    return resolve_now(wished.read(), wished.owner(), world.facts(), gen.INSTALLATION)


def test_only_the_first_boot_is_blocked() -> None:
    late = gen.world().at(END + timedelta(days=1))
    assert SUBKEY in gen.expect(Blocked, _resolve(late, cluster(EXPIRING_SUBKEY))).message
    assert not isinstance(_resolve(late, cluster(EXPIRING_SUBKEY).initialized()), Blocked)
    assert not isinstance(_resolve(late, cluster(NIST)), Blocked)


def test_the_output_of_render_does_not_depend_on_the_time() -> None:
    late, wished = gen.world().at(END + timedelta(days=1)), cluster(EXPIRING_SUBKEY)
    answer = resolve(wished.read(), wished.owner(), late.facts(), gen.INSTALLATION)
    assert not isinstance(answer, Blocked)
