"""The subjects that may log in to the auth method jwt-operator, and what each may do. Pure.

Called by `managers.cluster.resolve.resolve` for the first boot, and by
`managers.cluster.adminops.login_setup` for a cluster that had its first boot without this login.
"""

from __future__ import annotations

from contracts.api.cluster.job_roles import DEFAULTS, job_role, string_field
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


def first_boot_login(
    spec: ClusterSpec, owner: Owner, issuer: TokenIssuer | None, installation: Installation
) -> OidcBootstrap | None:
    """Describe the login of the first boot; None if it sets up none, or the issuer is unknown."""
    if not spec.wants_operator_login or issuer is None:
        return None
    return operator_login(spec, owner, issuer, installation)


def operator_login(
    spec: ClusterSpec, owner: Owner, issuer: TokenIssuer, installation: Installation
) -> OidcBootstrap:
    """Describe the login, for the self-init and for the set-up with the root token.

    Without self-init, the user manages the roles that the spec names: they are never written. The
    default roles are written even so, for a spec that no longer names a role.
    """
    oidc = spec.self_init.oidc if spec.self_init else None
    additional = (oidc.additional_subjects if oidc else None) or AdditionalSubjects()
    roles = (_operator(spec, installation, additional), *_job_roles(spec, owner, additional))
    return OidcBootstrap(
        audience=installation.audience_of(owner.key),
        issuer=(oidc.issuer if oidc else None) or issuer.issuer,
        public_keys=issuer.public_keys,
        roles=roles,
    )


def _operator(
    spec: ClusterSpec, installation: Installation, additional: AdditionalSubjects
) -> AuthRole:
    keys = spec.recovery_keys
    delivers_shares = keys is not None and keys.initial is not None
    subjects = _each((installation.subject, *additional.operator))
    return operator_role(subjects, hands_over=delivers_shares, rewraps=spec.unseal.type == "static")


def _job_roles(
    spec: ClusterSpec, owner: Owner, additional: AdditionalSubjects
) -> tuple[AuthRole, ...]:
    # All of them: backups, upgrades or restores may be enabled later, and no role is created then.
    test = spec.backup.restore_test if spec.backup else None
    canary = test.canary_path if test else None
    blue_green = string_field(spec.upgrade, "strategy") == BLUE_GREEN
    subjects = {
        job: _job(owner, job, getattr(additional, job)) for job in ("backup", "upgrade", "restore")
    }
    roles: dict[names.Job, AuthRole] = {
        "backup": backup_role(_role_name(spec, "backup"), subjects["backup"], canary=canary),
        "upgrade": upgrade_role(
            _role_name(spec, "upgrade"), subjects["upgrade"], blue_green=blue_green
        ),
        "restore": restore_role(_role_name(spec, "restore"), subjects["restore"]),
    }
    return tuple(role for job, role in roles.items() if not _is_users_own(spec, job))


def _role_name(spec: ClusterSpec, job: names.Job) -> str:
    return job_role(spec, job) if spec.self_initializes else DEFAULTS[job]


def _is_users_own(spec: ClusterSpec, job: names.Job) -> bool:
    """Report whether the user manages the role with the default name; never with self-init."""
    return (
        not spec.self_initializes
        and string_field(getattr(spec, job), "jwtAuthRole") == DEFAULTS[job]
    )


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
        "cannot log in: remove the field, or change OPENBAO_JWT_AUDIENCE",
    )
