"""The types of Google credential files: the supported ones, and messages for the others.

Uses baoctl.jobs.failures and store.egress_proxy; reads no file. Called by store.settings. The types
are those of Application Default Credentials (google.aip.dev/auth/4110). obstore 0.12.1 supports two
of them. For the others it raises an error that may contain the file, so they are refused first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.egress_proxy import EgressEndpoint

FILE: Final = "credentials.json"
ACCOUNT: Final = "service_account"
USER: Final = "authorized_user"
TOKEN_SERVICE: Final = EgressEndpoint("accounts.google.com", 443)
"""The endpoint at which obstore exchanges the refresh token of a user for an access token."""

_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    ACCOUNT: ("private_key", "private_key_id", "client_email"),
    USER: ("client_id", "client_secret", "refresh_token"),
}
_KEY_FILE: Final = "store the key file of a service account"
_UNSUPPORTED: Final[Mapping[str, str]] = {
    "external_account": (
        "workload identity federation needs a token of another issuer; on GKE, remove "
        f"credentialsSecretRef to use the identity of the pod, elsewhere {_KEY_FILE}"
    ),
    "external_account_authorized_user": f"it needs a login in a browser; {_KEY_FILE}",
    "impersonated_service_account": (
        f"it impersonates another account; {_KEY_FILE} that may use the bucket"
    ),
    "gdch_service_account": f"it is for Google Distributed Cloud; {_KEY_FILE}",
}


def credential_type(text: str, reference: str) -> str:
    """Return ACCOUNT or USER for the text of a file.

    Raises JobFailure(Config) for any other type. The message names `reference`, the field with the
    Secret, and contains no value of the file.
    """
    content = _content(text, reference)
    # Handwritten files of service accounts often have no type.
    kind = content.get("type", ACCOUNT)
    if not isinstance(kind, str) or kind not in _REQUIRED:
        raise JobFailure("Config", f"{reference}: {FILE} has {_refusal(kind)}")
    missing = [name for name in _REQUIRED[kind] if not _is_text(content.get(name))]
    if missing:
        raise JobFailure(
            "Config",
            f"{reference}: {FILE} of type {kind} has no {' and no '.join(missing)}; {_KEY_FILE}",
        )
    return kind


def _content(text: str, reference: str) -> Mapping[str, Any]:
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise JobFailure("Config", f"{reference}: {FILE} is not JSON; {_KEY_FILE}") from None
    if not isinstance(content, dict):
        raise JobFailure("Config", f"{reference}: {FILE} is not a JSON object; {_KEY_FILE}")
    return content


def _refusal(kind: Any) -> str:
    if isinstance(kind, str) and kind in _UNSUPPORTED:
        return f"type {kind}: {_UNSUPPORTED[kind]}"
    # An unknown type is not shown: it may be a secret.
    return f"an unknown type: {_KEY_FILE}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
