"""Rules about spec.image, spec.imageVerification and spec.operatorImageVerification.

Uses contracts.image_reference, contracts.api.values.public_key and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from pydantic_core import SchemaError

from contracts import image_reference
from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Broken, Offence, Rule
from contracts.api.values.field_path import values_at
from contracts.api.values.pattern import Pattern
from contracts.api.values.public_key import read_public_key
from contracts.naming import names

Old = OpenBaoCluster | None

BLOCKS = ("imageVerification", "operatorImageVerification")
IMAGES = (
    "spec.image",
    "spec.plugins[].image",
    "spec.initContainer.image",
    "spec.backup.image",
    "spec.backup.restoreTest.clusterTemplate.image",
    "spec.upgrade.image",
    "spec.upgrade.blueGreen.verification.prePromotionHook.image",
)
"""Fields that name an image."""
_FINE = "openbao"
_SYSTEM_NAME = Pattern(f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$")


def _block(cluster: OpenBaoCluster, name: str) -> ImageVerification | None:
    spec = cluster.spec
    block = spec.image_verification if name == BLOCKS[0] else spec.operator_image_verification
    return block if block is not None and block.enabled else None


def _image(path: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        for field, image in values_at(new.spec, path.removeprefix("spec.")):
            try:
                image_reference.parse(image or _FINE)
            except ValueError:
                yield f"spec.{field}", image

    return broken


def _trust(name: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        block = _block(new, name)
        if block is not None and bool(block.public_key) == block.keyless:
            yield f"spec.{name}", None

    return broken


def _pairs(name: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        block = _block(new, name)
        if block is None or not block.keyless:
            return
        exact = bool(block.issuer), bool(block.subject)
        patterns = bool(block.issuer_reg_exp), bool(block.subject_reg_exp)
        if (all(exact) and not any(patterns)) or (all(patterns) and not any(exact)):
            return
        yield f"spec.{name}", block.issuer or block.issuer_reg_exp

    return broken


def _key(name: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        block = _block(new, name)
        if block is None or not block.public_key:
            return
        try:
            read_public_key(block.public_key)
        except ValueError as error:
            yield f"spec.{name}.publicKey", str(error)

    return broken


def _patterns(name: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        block = _block(new, name)
        if block is None:
            return
        for field, pattern in (
            ("issuerRegExp", block.issuer_reg_exp),
            ("subjectRegExp", block.subject_reg_exp),
        ):
            if pattern and not is_linear_pattern(pattern):
                yield f"spec.{name}.{field}", pattern

    return broken


def _system_secret(name: str) -> Broken:
    def broken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
        spec = new.spec
        block = spec.image_verification if name == BLOCKS[0] else spec.operator_image_verification
        for position, secret in enumerate(block.image_pull_secrets if block else ()):
            if _SYSTEM_NAME.found_in(secret.name):
                yield f"spec.{name}.imagePullSecrets[{position}].name", secret.name

    return broken


def is_linear_pattern(pattern: str) -> bool:
    """Whether a pattern is one of the kind that needs no going back, as Go has them (RE2)."""
    try:
        Pattern(pattern)
    except SchemaError:
        return False
    return True


def _set(*fields: str) -> str:
    return " || ".join(f"(has(self.{field}) && self.{field} != '')" for field in fields)


_EXACT = f"{_set('issuer')}) && ({_set('subject')}"
_ANY_EXACT = _set("issuer", "subject")
_REGEXP = f"{_set('issuerRegExp')}) && ({_set('subjectRegExp')}"
_ANY_REGEXP = _set("issuerRegExp", "subjectRegExp")
_KEYLESS = f"{_ANY_EXACT} || {_ANY_REGEXP}"


def _rules(name: str) -> tuple[Rule, ...]:
    at = f"spec.{name}"
    return (
        Rule(
            id=f"{name}-trust",
            at=at,
            field=at,
            message=(
                "must name either publicKey or an identity (issuer and subject, or issuerRegExp "
                "and subjectRegExp), not both and not none; correct it or set enabled to false"
            ),
            broken=_trust(name),
            cel=f"!self.enabled || ({_set('publicKey')}) != ({_KEYLESS})",
        ),
        Rule(
            id=f"{name}-identity",
            at=at,
            field=at,
            message=(
                "must name an identity by issuer and subject, or by issuerRegExp and "
                "subjectRegExp; add the missing one and remove the other pair"
            ),
            broken=_pairs(name),
            cel=(
                f"!self.enabled || !({_KEYLESS}) || "
                f"(({_EXACT}) && !({_ANY_REGEXP})) || (({_REGEXP}) && !({_ANY_EXACT}))"
            ),
        ),
        Rule(
            id=f"{name}-key",
            at=at,
            field=f"{at}.publicKey",
            message=(
                "must be one public key in PEM: ECDSA P-256, P-384 or P-521, or RSA of 2048 to "
                "8192 bits; paste the file cosign.pub"
            ),
            broken=_key(name),
        ),
        Rule(
            id=f"{name}-pattern",
            at=at,
            field=at,
            message=(
                "must be a regular expression of the RE2 syntax, which has no look-ahead and no "
                "back-reference; correct it, or use issuer and subject"
            ),
            broken=_patterns(name),
        ),
        _secret_rule(name),
    )


def _secret_rule(name: str) -> Rule:
    at = f"spec.{name}"
    return Rule(
        id=f"{name}-secret",
        at=f"{at}.imagePullSecrets[]",
        field=f"{at}.imagePullSecrets[].name",
        message=(
            "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
            "-unseal-key); name a Secret with registry logins"
        ),
        broken=_system_secret(name),
        cel=f"!{_SYSTEM_NAME.cel('self.name')}",
        got="self.name",
        reason="FieldValueForbidden",
    )


def _image_rule(path: str) -> Rule:
    return Rule(
        id=f"image-{path.removeprefix('spec.')}",
        at=path,
        field=path,
        message=(
            "must be an image reference such as registry.example.com/openbao:2.4.0, with a tag of "
            "up to 128 letters, digits, dots, dashes and underscores, or @sha256: and 64 digits"
        ),
        broken=_image(path),
        cel=f"self.matches(r'{image_reference.GRAMMAR}') && "
        f"self.matches(r'{image_reference.LENGTH}')",
    )


IMAGE_RULES: tuple[Rule, ...] = (
    *map(_image_rule, IMAGES),
    *_rules(BLOCKS[0]),
    *_rules(BLOCKS[1]),
)
