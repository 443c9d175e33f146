"""Reads the settings that the objects of a cluster depend on from the environment.

Uses baoctl.variables. Called by baoctl.settings, and by verbs, which ignore the settings of a
process, such as LOG_LEVEL.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from baoctl import variables
from baoctl.variables import SettingError
from contracts import image_reference
from contracts.naming.installation import CONTROLLER, NAMESPACE
from managers.context.installation import Installation, Mode, Platform

if TYPE_CHECKING:
    from contracts.rbac.rules import Reads

DEFAULT_REPOSITORY = "openbao/openbao"
DEFAULT_AUDIENCE = "openbao-internal"
SECRET_RECHECK = 15.0
ADMISSION_RECHECK = 600.0
POD_DEADLINE = 600.0
AUTO = "auto"
SINGLE_TENANT = "single-tenant"
MULTI_TENANT = "multi-tenant"
READS: Mapping[str, Reads] = {"poll": "poll", "watch": "watch"}
PLATFORMS: Mapping[str, Platform] = {"kubernetes": "kubernetes", "openshift": "openshift"}
PERIOD_MAX: Final = 30 * 24 * 3600.0
"""Thirty days, in seconds: a longer period is probably a typo."""
REPOSITORY: Final = "must be REGISTRY/REPOSITORY without a tag: the version of a cluster is the tag"
IMAGE: Final = "must be the reference of an image, REGISTRY/REPOSITORY:TAG or @sha256:DIGEST"


def installation_from_environment(environ: Mapping[str, str] | None = None) -> Installation:
    """Read the settings that the objects of a cluster depend on. Raises SettingError."""
    env = os.environ if environ is None else environ
    return installation_of(env, mode_of(env, namespaces_of(env)), platform_of(env))


def platform_of(env: Mapping[str, str]) -> str:
    """Read the platform; `auto` detects it from the API server. Raises SettingError."""
    return variables.choice(env, "OPERATOR_PLATFORM", {AUTO: AUTO, **PLATFORMS}, AUTO)


def installation_of(env: Mapping[str, str], mode: Mode, platform: str) -> Installation:
    """Read the other settings of an installation. Raises SettingError."""
    name, rule = variables.is_object_name, variables.OBJECT_NAME
    deadline = variables.seconds(env, "UPGRADE_POD_DEADLINE_SECONDS", POD_DEADLINE, PERIOD_MAX)
    return Installation(
        namespace=variables.text(
            env, "POD_NAMESPACE", NAMESPACE, variables.is_namespace, variables.NAMESPACE
        ),
        service_account=variables.text(
            env, "OPERATOR_SERVICE_ACCOUNT_NAME", CONTROLLER, name, rule
        ),
        image_repository=variables.text(
            env, "RELATED_IMAGE_OPENBAO", DEFAULT_REPOSITORY, is_repository, REPOSITORY
        ),
        secret_recheck=SECRET_RECHECK,
        operator_image=variables.text(env, "OPERATOR_IMAGE", "", is_image, IMAGE),
        platform=PLATFORMS.get(platform, "kubernetes"),
        audience=variables.text(
            env, "OPENBAO_JWT_AUDIENCE", DEFAULT_AUDIENCE, variables.is_word, variables.WORD
        ),
        shared_audience=variables.switch(env, "OPENBAO_JWT_SHARED_AUDIENCE"),
        admission_recheck=variables.seconds(
            env, "ADMISSION_RECHECK_SECONDS", ADMISSION_RECHECK, PERIOD_MAX
        ),
        pod_deadline=timedelta(seconds=deadline),
        mode=mode,
        reads=reads_of(env),
    )


def namespaces_of(env: Mapping[str, str]) -> tuple[str, ...]:
    """Read the namespaces to watch; empty for all of them. Raises SettingError."""
    return variables.text_list(env, "WATCH_NAMESPACE", variables.is_namespace, variables.NAMESPACE)


def mode_of(env: Mapping[str, str], namespaces: tuple[str, ...]) -> Mode:
    """Read the mode. Raises SettingError for an unknown mode or contradictory variables."""
    modes = {SINGLE_TENANT: SINGLE_TENANT, MULTI_TENANT: MULTI_TENANT}
    if variables.choice(env, "TENANCY_MODE", modes, SINGLE_TENANT) == SINGLE_TENANT:
        return "namespaces" if namespaces else "cluster"
    if namespaces:
        raise SettingError(
            "WATCH_NAMESPACE",
            env["WATCH_NAMESPACE"],
            "must not be set with TENANCY_MODE=multi-tenant: "
            "OpenBaoTenants determine the namespaces",
        )
    return "tenants"


def reads_of(env: Mapping[str, str]) -> Reads:
    """Read how the objects of tenants are read. Raises SettingError for an unknown value."""
    reads = variables.choice(env, "TENANT_READS", READS, "poll")
    return reads if env.get("TENANCY_MODE") == MULTI_TENANT else "watch"


def is_repository(text: str) -> bool:
    """Return whether a text is an image repository, without tag and digest."""
    try:
        reference = image_reference.parse(text)
    except ValueError:
        return False
    return reference.tag is None and reference.digest is None


def is_image(text: str) -> bool:
    """Return whether a text is an image reference."""
    try:
        image_reference.parse(text)
    except ValueError:
        return False
    return True
