"""The requests of a login to the API server: the CA of the servers, a token of a ServiceAccount.

Uses runtime.client.client. Called by baoctl.commands.login.connection,
baoctl.commands.login.session and baoctl.commands.bench.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from baoctl.commands.api_client import RequestError, Session
from baoctl.commands.login.target import (
    AUTHORITY_MAX,
    ServerAuthority,
    authority_in,
    check_authority,
)
from baoctl.exit_codes import ExitCode
from baoctl.installation_settings import installation_from_environment
from contracts.naming import names
from managers.context.sensitive import SensitiveString
from managers.context.service_account_token import AccountTokens
from runtime.builtin_kinds import CONFIG_MAP, SECRET
from runtime.errors import Forbidden, NotFound
from runtime.types import Object, ObjectKey, uid_of


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """The options of a login, and the command to run."""

    cluster: str
    command: tuple[str, ...]
    """The command and its arguments; empty for the shell of the user."""
    service_account: str
    role: str | None
    """None: the name of the ServiceAccount."""
    auth_path: str
    audience: str | None
    """None: the audience of the cluster."""
    ca_file: Path | None


async def read_authority(
    api: Session, options: LoginOptions, trust: ServerAuthority, live: Object
) -> str:
    """Return the CA of the servers in PEM; "" for the CAs of this machine. Raises RequestError."""
    if options.ca_file is not None:
        return _authority_of_file(options.ca_file)
    if trust.secret is None:
        return ""
    key = ObjectKey(api.namespace, trust.secret)
    try:
        secret = await api.client.get(SECRET, key)
    except Forbidden as error:
        shared = await _shared_authority(api, options.cluster, live)
        if shared:
            return shared
        raise RequestError(
            f"{error}; request the entry {trust.entry} of Secret {key} from an administrator, and "
            "use it with --ca-file",
            ExitCode.NO_ACCESS,
        ) from None
    return authority_in(f"Secret {key}", secret.get("data"), trust.entry)


def _authority_of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(AUTHORITY_MAX + 1).decode()
    except OSError as error:
        raise RequestError(f"{path}: {error.strerror}; choose another --ca-file") from None
    except UnicodeDecodeError:
        content = ""
    return check_authority(str(path), content)


async def _shared_authority(api: Session, cluster: str, live: Object) -> str:
    """Return the CA in the ConfigMap for gateways; "" if the operator has not created it."""
    key = ObjectKey(api.namespace, names.gateway_ca_config_map(cluster))
    try:
        config_map = await api.client.get(CONFIG_MAP, key)
    except (Forbidden, NotFound):
        return ""
    owners = (config_map.get("metadata") or {}).get("ownerReferences") or ()
    if uid_of(live) not in {owner.get("uid") for owner in owners}:
        return ""
    return check_authority(
        f"ConfigMap {key}", str((config_map.get("data") or {}).get("ca.crt", ""))
    )


async def account_token(api: Session, options: LoginOptions) -> SensitiveString:
    """Return a token of the ServiceAccount for the servers of this cluster. Raises RequestError."""
    account = ObjectKey(api.namespace, options.service_account)
    cluster = ObjectKey(api.namespace, options.cluster)
    audience = options.audience or installation_from_environment().audience_of(cluster)
    try:
        return await AccountTokens(api.client, api.clock, account, audience).get()
    except NotFound:
        raise RequestError(
            f"there is no ServiceAccount {account}; choose another with --service-account",
            ExitCode.NOT_FOUND,
        ) from None
    except Forbidden as error:
        step = f"request the right to create serviceaccounts/token of {account}"
        raise RequestError(f"{error}; {step}", ExitCode.NO_ACCESS) from None
