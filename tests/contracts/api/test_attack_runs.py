"""Attacks by users who may write backups and restores: no object of other users is reachable."""

import copy
import re
from typing import Any

import pytest

from contracts.api.backup import BackupSpec, InvalidBackupError, OpenBaoBackup
from contracts.api.meta import ApiModel
from contracts.api.restore import InvalidRestoreError, OpenBaoRestore, RestoreSpec
from contracts.api.rules.restore import REFERENCES, restore_violations
from contracts.api.values.field_path import names_of
from contracts.api.violation import Violation
from contracts.naming.names import SYSTEM_SECRET_SUFFIXES
from e2e.attacks.payloads import TEXTS, URLS
from tests.contracts.api.models import models_of
from tests.contracts.api.run_objects import (
    KEY,
    STORE,
    Object,
    backup_object,
    from_store,
    into,
    restore_object,
)

OTHERS: dict[str, Object] = {
    "spec.source.target.credentialsSecretRef": from_store(credentialsSecretRef={"name": "@"}),
    "spec.tokenSecretRef": {"tokenSecretRef": {"name": "@"}},
    "spec.clusterTemplate.imagePullSecrets[]": into(imagePullSecrets=[{"name": "@"}]),
    "spec.clusterTemplate.unseal.credentialsSecretRef": into(
        unseal={"credentialsSecretRef": {"name": "@"}}
    ),
}
CLIMBING = (
    "..", "../other/c/x.snap", "a/../../b", "./x", "a/./b", "/etc/x", "a//b", "a/", "%2e%2e/a",
)  # fmt: skip


def _refused(**spec: Any) -> tuple[Violation, ...]:
    try:
        return restore_violations(OpenBaoRestore.from_object(restore_object(**spec)))
    except InvalidRestoreError as error:
        return error.violations


@pytest.mark.parametrize("model", [BackupSpec, RestoreSpec])
def test_attack_t04_no_field_names_another_namespace(model: type[ApiModel]) -> None:
    for part in models_of(model):
        assert "namespace" not in names_of(part), part.__name__


def test_every_reference_has_a_case() -> None:
    assert OTHERS.keys() == set(REFERENCES)


@pytest.mark.parametrize("suffix", SYSTEM_SECRET_SUFFIXES)
@pytest.mark.parametrize("path", OTHERS)
def test_attack_t05_no_reference_of_a_restore_names_a_secret_of_the_operator(
    path: str, suffix: str
) -> None:
    def named(value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: named(item, name) for key, item in value.items()}
        if isinstance(value, list):
            return [named(item, name) for item in value]
        return name if value == "@" else value

    spec = copy.deepcopy(OTHERS[path])
    assert {violation.rule for violation in _refused(**named(spec, f"other{suffix}"))} == {
        f"restore-secret-{path.removeprefix('spec.')}"
    }
    assert _refused(**named(spec, "mine")) == ()


def test_attack_t09_a_restore_refuses_every_url_of_the_table() -> None:
    for url in URLS:
        violations = _refused(**from_store(endpoint=url))
        assert "spec.source.target.endpoint" in {violation.field for violation in violations}, url


@pytest.mark.parametrize("key", CLIMBING)
def test_attack_t16_no_key_and_no_prefix_traverses_directories(key: str) -> None:
    violations = _refused(source={"target": STORE, "key": key})
    assert {violation.field.removeprefix("spec.") for violation in violations} == {"source.key"}
    if key != "a/":
        # A prefix may end in a slash; each key of it is built from its parts.
        prefixed = _refused(**from_store(pathPrefix=key))
        assert {violation.field for violation in prefixed} == {"spec.source.target.pathPrefix"}


def test_attack_t16_hostile_text_is_not_a_valid_key_or_name() -> None:
    word = r"(?!\.+(/|$))[A-Za-z0-9._-]+"
    plain = {text for text in TEXTS if re.fullmatch(rf"{word}(/{word})*", text)}
    assert len(plain) < len(TEXTS) / 2
    for text in TEXTS:
        # A plain word is a key in the store of the user.
        assert text in plain or _refused(source={"target": STORE, "key": text}), text
        if re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", text):
            continue
        assert _refused(source={"backup": text}), text
        assert _refused(cluster=text), text
        with pytest.raises(InvalidBackupError):
            OpenBaoBackup.from_object(backup_object(cluster=text))
    assert _refused(source={"target": STORE, "key": KEY}) == ()
