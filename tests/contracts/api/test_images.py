"""The rules about images: trusted signers, and attacks T05 (system Secrets) and T10 (bombs)."""

import pytest

from contracts.api.rules.cluster import violations
from contracts.api.rules.images import BLOCKS
from contracts.api.values.identity_pattern import IdentityPattern
from contracts.naming import names
from tests.contracts.api.cases_images import KEY
from tests.contracts.api.clusters import cluster


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("suffix", names.SYSTEM_SECRET_SUFFIXES)
def test_attack_t05_no_registry_login_out_of_the_operators_secrets(block: str, suffix: str) -> None:
    expected = {"enabled": True, "publicKey": KEY, "imagePullSecrets": [{"name": f"c{suffix}"}]}
    rule_violations = violations(cluster("c", **{block: expected}))
    assert [violation.field for violation in rule_violations] == [
        f"spec.{block}.imagePullSecrets[0].name"
    ]
    # A disabled policy is refused as well: one edit enables it.
    off = violations(cluster("c", **{block: {**expected, "enabled": False}}))
    assert [violation.rule for violation in off] == [f"{block}-secret"]


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(([a-z])+.)+[A-Z]([a-z])+$", "(x|x)*y"])
def test_attack_t10_patterns_are_matched_in_linear_time(pattern: str) -> None:
    """They are accepted, because the engine matches every pattern in linear time."""
    IdentityPattern(pattern).found_in("a" * 10_000)


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "(?<!a)b", "(", "a{2,1}", "[z-a]"])
def test_attack_t10_patterns_that_need_backtracking_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="RE2"):
        IdentityPattern(pattern)


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("profile", ["Development", "Hardened", None])
def test_b13_no_signer_is_trusted_by_default(block: str, profile: str | None) -> None:
    """No workflow name is built in: it could change or be taken over."""
    rule_violations = violations(cluster("c", profile=profile, **{block: {"enabled": True}}))
    assert f"{block}-trust" in {violation.rule for violation in rule_violations}
