"""baoctl.commands.bundle.secret_patterns: secrets are found in every format."""

from __future__ import annotations

import json
import string
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from baoctl.commands.bundle.contents import as_json
from baoctl.commands.bundle.secret_patterns import find_secrets, redact
from runtime.redaction import REDACTED

RECORDED = Path(__file__).parents[1] / "cluster" / "recorded" / "healthy.json"
_BASE64 = string.ascii_letters + string.digits
_PEM_LINES = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nBKcwggSjAgEAAoIBAQ=="


def letters(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text(_BASE64, min_size=least, max_size=most)


def pem(kind: str) -> str:
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{_PEM_LINES}\n-----END {kind}PRIVATE KEY-----"


# By kind: a text with a secret, and the part that must be redacted.
PLANTED: dict[str, st.SearchStrategy[tuple[str, str]]] = {
    "service token": letters(24, 100).map(lambda token: (f"hvs.{token}", token)),
    "older token": letters(24, 24).map(lambda token: (f"s.{token}", token)),
    "batch token": letters(60, 200).map(lambda token: (f"b.{token}", token)),
    "recovery token": letters(24, 95).map(lambda token: (f"hvr.{token}", token)),
    "JWT": st.tuples(letters(20, 60), letters(20, 90)).map(
        lambda item: (f"eyJ{item[0]}.eyJ{item[1]}.{item[0]}", item[1])
    ),
    "registry login": letters(40, 80).map(lambda token: (f"eyJ{token}==", token)),
    "private key": st.sampled_from(["", "RSA ", "EC ", "ENCRYPTED "]).map(
        lambda item: (pem(item), _PEM_LINES.splitlines()[0])
    ),
    "URL": letters(8, 30).map(lambda token: (f"https://admin:{token}@db.example.com/x", token)),
    "AWS key": st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16).map(
        lambda item: (f"AKIA{item}", item)
    ),
    "unseal key": letters(44, 66).map(lambda token: (f"Unseal Key 1: {token}", token)),
    "recovery key": letters(44, 66).map(lambda token: (f"Recovery Key 3: {token}", token)),
    "header": letters(24, 60).map(lambda token: (f"Authorization: Bearer {token}", token)),
    "presigned URL": letters(64, 64).map(
        lambda item: (f"https://s3.example.com/b?X-Amz-Signature={item}", item)
    ),
    "HCL": letters(8, 30).map(lambda token: (f'  secret_key = "{token}"', token)),
    "query": letters(8, 30).map(lambda token: (f"GET /x?client_token={token}", token)),
    "JSON": letters(8, 30).map(lambda token: (f'{{"bindPassword": "{token}"}}', token)),
    "nested JSON": letters(8, 30).map(lambda token: (f'{{\\"password\\":\\"{token}\\"}}', token)),
    "variable": letters(8, 30).map(
        lambda item: (as_json({"name": "DB_PASSWORD", "value": item}), item)
    ),
    "variable in YAML": letters(8, 30).map(
        lambda item: (f"env:\n- name: API_TOKEN\n  value: {item}", item)
    ),
    "annotation": letters(8, 30).map(
        lambda item: (as_json({"annotations": {"example.com/secret": item}}), item)
    ),
    "YAML": letters(8, 30).map(lambda token: (f"  password: {token}", token)),
}
# Lines without a secret.
_AROUND = st.lists(
    st.text(string.ascii_letters + string.digits + " .,:;=-_[]", max_size=60)
    | st.text(max_size=40).map(lambda token: token.replace("\n", " ")),
    max_size=5,
).map("\n".join)


@pytest.mark.parametrize("kind", PLANTED)
@given(data=st.data())
def test_a_secret_is_found_with_its_line_and_redacted(kind: str, data: st.DataObject) -> None:
    planted, secret = data.draw(PLANTED[kind])
    before, after = data.draw(_AROUND), data.draw(_AROUND)
    # The name of a field may contain the secret: annotations contains "annotati".
    assume(secret not in before + REDACTED + after and planted.count(secret) == 1)
    text = f"{before}\n{planted}\n{after}"
    position = text.index(planted) + planted.index(secret)
    assert any(match.start <= position < match.end for match in find_secrets(text)), kind
    clean, matches = redact(text)
    assert secret not in clean
    assert matches
    assert find_secrets(clean) == ()


@given(st.text(max_size=400), st.lists(st.one_of(*PLANTED.values()), max_size=3))
def test_the_rest_of_a_text_is_unchanged(text: str, planted: list[tuple[str, str]]) -> None:
    whole = "\n".join((text, *(item for item, _ in planted)))
    matches = find_secrets(whole)
    for match in matches:
        assert match.line == whole.count("\n", 0, match.start) + 1
    assert [match.start for match in matches[1:]] >= [match.end for match in matches[:-1]]
    outside = "".join(
        whole[end:start]
        for end, start in zip(
            [0, *(match.end for match in matches)],
            [*(match.start for match in matches), len(whole)],
            strict=True,
        )
    )
    assert outside == whole if not matches else len(outside) < len(whole)
    if not matches:
        assert redact(whole) == (whole, ())


@given(
    st.dictionaries(st.sampled_from(["a", "token", "password", "note"]), st.text(max_size=60)),
    st.one_of(*PLANTED.values()),
)
def test_redacted_json_is_valid_json(fields: dict[str, str], planted: tuple[str, str]) -> None:
    text = as_json({**fields, "planted": planted[0]})
    clean, _ = redact(text)
    assert set(json.loads(clean)) == {*fields, "planted"}


HARMLESS = (
    '"secretName": "first-tls-server"',
    '"rootTokenSecret": "0b0e/1234"',
    '"automountServiceAccountToken": true',
    '"serviceAccountToken": {"path": "token"}',
    '{"name": "BACKUP_TOKEN", "value": "/etc/bao/backup/token/token"}',
    '"client_token": "hmac-sha256:0123456789abcdef0123456789abcdef"',
    'password = "[redacted]"',
    "password = env://PASSWORD",
    "value: $(DB_PASSWORD)",
    "MountVolume.SetUp failed: secret not found",
    "token_ttl=1h token_policies=[readers]",
    "https://bao.example.com:8200/v1/sys/health?standbyok=true",
    "image: registry.example.com/openbao@sha256:" + 64 * "a",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "core: post-unseal setup complete",
    as_json([{"name": "SOFTHSM2_CONF", "secretKey": "softhsm2.conf"}]),
)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_secrets_is_unchanged(text: str) -> None:
    assert redact(text) == (text, ())


def test_no_secret_is_found_in_a_healthy_cluster() -> None:
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    assert find_secrets(as_json(recorded)) == ()


def test_the_secret_key_of_a_seal_is_redacted() -> None:
    text = as_json({"awskms": {"region": "eu-west-1", "secretKey": "wJalrXUtnFEMI"}})
    assert redact(text)[0] == text.replace("wJalrXUtnFEMI", REDACTED)


def test_a_secret_that_matches_two_patterns_is_reported_once() -> None:
    (only,) = find_secrets(f'x\n"token": "hvs.{24 * "a"}"\n')
    assert (only.line, redact(f'token = "s.{24 * "b"}"')[0]) == (2, f'token = "{REDACTED}"')


REPEATED = (
    "a", "-", "token=", 'token:"', 'token:\\"', "eyJ", "s.", "http://u:", " - ", "name: token\n",
    "Unseal Key 1", "bearer ", "-----BEGIN PRIVATE KEY-----",
)  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED)
def test_a_long_text_is_searched_in_linear_time(piece: str) -> None:
    """A pattern with backtracking would take hours; the timeout of the test ends it."""
    clean, _ = redact(piece * (400_000 // len(piece)))
    assert find_secrets(clean) == ()
