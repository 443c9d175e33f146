"""The subjects that may log in to the auth method jwt-operator, as the self-init sets it up. Pure.

Called by `managers.cluster.resolve.resolve`.
"""

from __future__ import annotations

from contracts.api.cluster.job_roles import chosen, job_role
from contracts.api.cluster.self_init import AdditionalSubjects
from contracts.api.cluster.spec import ClusterSpec
from contracts.hcl.roles import AuthRole, backup_role, operator_role, restore_role, upgrade_role
from contracts.hcl.self_init import OidcBootstrap
from contracts.naming import names
from contracts.records.observed import TokenIssuer
from managers.context.installation import Installation
from runtime.apply.ownership import Owner
from runtime.outcome import Blocked

BLUE_GREEN = "BlueGreen"


def operator_login(
    spec: ClusterSpec, owner: Owner, issuer: TokenIssuer | None, installation: Installation
) -> OidcBootstrap | None:
    """Describe the login; None when the spec has none, or the token issuer is unknown."""
    oidc = spec.self_init.oidc if spec.self_init else None
    if oidc is None or not spec.wants_operator_login or issuer is None:
        return None
    additional = oidc.additional_subjects or AdditionalSubjects()
    return OidcBootstrap(
        audience=installation.audience_of(owner.key),
        issuer=oidc.issuer or issuer.issuer,
        public_keys=issuer.public_keys,
        roles=_roles(spec, owner, (installation.subject, *additional.operator), additional),
    )


def _roles(
    spec: ClusterSpec, owner: Owner, operators: tuple[str, ...], additional: AdditionalSubjects
) -> tuple[AuthRole, ...]:
    keys = spec.recovery_keys
    delivers_shares = keys is not None and keys.initial is not None
    rewraps = spec.unseal.type == "static"
    roles = [operator_role(_each(operators), hands_over=delivers_shares, rewraps=rewraps)]
    # Only the self-init creates roles, and backups, upgrades or restores may be enabled later.
    name = job_role(spec, "backup")
    test = spec.backup.restore_test if spec.backup else None
    canary = test.canary_path if test else None
    roles.append(backup_role(name, _job(owner, "backup", additional.backup), canary=canary))
    name = job_role(spec, "upgrade")
    blue_green = chosen(spec.upgrade, "strategy") == BLUE_GREEN
    roles.append(
        upgrade_role(name, _job(owner, "upgrade", additional.upgrade), blue_green=blue_green)
    )
    name = job_role(spec, "restore")
    roles.append(restore_role(name, _job(owner, "restore", additional.restore)))
    return tuple(roles)


def _job(owner: Owner, job: names.Job, additional: tuple[str, ...]) -> tuple[str, ...]:
    account = names.job_service_account(owner.name, job)
    return _each((f"system:serviceaccount:{owner.namespace}:{account}", *additional))


def _each(subjects: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(subjects))


def wrong_audience(spec: ClusterSpec, owner: Owner, installation: Installation) -> Blocked | None:
    """Refuse a login with an audience that the operator's tokens never have."""
    oidc = spec.self_init.oidc if spec.self_init else None
    if oidc is None or not spec.wants_operator_login or oidc.audience is None:
        return None
    own = installation.audience_of(owner.key)
    if oidc.audience in (installation.audience, own):
        return None
    return Blocked(
        "OIDCBootstrapConfigurationInvalid",
        f"spec.selfInit.oidc.audience: {oidc.audience} is neither the audience of this "
        f"installation, {installation.audience}, nor that of this cluster, {own}, so the operator "
        "could never log in: remove the field, or change OPENBAO_JWT_AUDIENCE",
    )
