"""Rules about spec.image, spec.imageVerification and spec.operatorImageVerification.

Uses contracts.image_reference, contracts.api.values.public_key and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts import image_reference
from contracts.api.cluster.image_verification import ImageVerification
from contracts.api.rules.checks import Predicate, group, has, it
from contracts.api.rules.combinators import invalid_fields, rule
from contracts.api.rules.reserved_names import no_system_secret
from contracts.api.rules.rule import InvalidField, Rule, RuleOf
from contracts.api.values.field_path import value_at
from contracts.api.values.identity_pattern import IdentityPattern
from contracts.api.violation import Explanation

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


def _bad_image(image: str) -> str | None:
    try:
        image_reference.parse(image or _FINE)
    except ValueError:
        return image
    return None


def _bad_key(block: ImageVerification) -> str | None:
    if not block.enabled or not block.public_key:
        return None
    # Imported here: most specs have no key, and need no cryptography.
    from contracts.api.values.public_key import read_public_key

    try:
        read_public_key(block.public_key)
    except ValueError as error:
        return Explanation(error)
    return None


def _bad_pattern(block: ImageVerification) -> Iterator[InvalidField]:
    for field in ("issuerRegExp", "subjectRegExp") if block.enabled else ():
        pattern = value_at(block, field)
        try:
            IdentityPattern(pattern or "")
        except ValueError:
            yield field, pattern


def _bad_log(block: ImageVerification) -> Iterator[InvalidField]:
    if block.enabled and block.keyless and block.ignore_tlog:
        yield "ignoreTlog", block.ignore_tlog


def _is_set(field: str) -> Predicate:
    return group(has(field) & it(field).differs(""))


_KEY = _is_set("publicKey")
_ISSUER, _SUBJECT = _is_set("issuer"), _is_set("subject")
_ISSUERS, _SUBJECTS = _is_set("issuerRegExp"), _is_set("subjectRegExp")
_ANY_EXACT, _ANY_REGEXP = _ISSUER | _SUBJECT, _ISSUERS | _SUBJECTS
_KEYLESS = _ANY_EXACT | _ANY_REGEXP
_EXACT, _REGEXP = group(_ISSUER) & group(_SUBJECT), group(_ISSUERS) & group(_SUBJECTS)


def _rules(name: str) -> tuple[Rule, ...]:
    at = f"spec.{name}"
    return (
        rule(
            f"{name}-trust",
            at,
            "",
            "must have either publicKey or an identity (issuer and subject, or issuerRegExp "
            "and subjectRegExp), and not both; correct it or set enabled to false",
            ~it("enabled").is_true() | group(_KEY).xor(group(_KEYLESS)),
            shows=None,
        ),
        rule(
            f"{name}-identity",
            at,
            "",
            "must have an identity with issuer and subject, or with issuerRegExp and "
            "subjectRegExp; add the missing one and remove the other pair",
            ~it("enabled").is_true()
            | ~_KEYLESS
            | group(_EXACT & ~_ANY_REGEXP)
            | group(_REGEXP & ~_ANY_EXACT),
            shows=lambda block: block.issuer or block.issuer_reg_exp,
        ),
        rule(
            f"{name}-key",
            at,
            "publicKey",
            "must be one public key in PEM: ECDSA P-256, P-384 or P-521, or RSA of 2048 to "
            "8192 bits; paste the file cosign.pub",
            _bad_key,
        ),
        RuleOf(
            f"{name}-pattern",
            at,
            at,
            "must be a regular expression of the RE2 syntax, which has no look-ahead, no "
            "back-reference and no sets within brackets; correct it, or use issuer and subject",
            invalid_fields(at, _bad_pattern),
        ),
        RuleOf(
            f"{name}-log",
            at,
            at,
            "must be false with an identity: the log proves when its certificate was used; remove "
            "it, or set publicKey instead of the identity",
            invalid_fields(at, _bad_log),
        ),
        no_system_secret(
            f"{name}-secret",
            f"{at}.imagePullSecrets[]",
            "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
            "-unseal-key); name a Secret with registry credentials",
        ),
    )


def _image_rule(path: str) -> Rule:
    return rule(
        f"image-{path.removeprefix('spec.')}",
        path,
        "",
        "must be an image reference such as registry.example.com/openbao:2.4.0, with a tag of "
        "up to 128 letters, digits, dots, dashes and underscores, or @sha256: and 64 digits",
        _bad_image,
        cel=f"self.matches(r'{image_reference.GRAMMAR}') && "
        f"self.matches(r'{image_reference.LENGTH}')",
    )


IMAGE_RULES: tuple[Rule, ...] = (
    *map(_image_rule, IMAGES),
    *_rules(BLOCKS[0]),
    *_rules(BLOCKS[1]),
)
