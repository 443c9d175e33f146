"""Which file of Google credentials the library can use, and the options for it.

Uses baoctl.jobs.failures and store.egress_proxy; reads no file. Called by store.settings. The types
are those of Application Default Credentials (google.aip.dev/auth/4110); the library, obstore
0.12.1, knows two of them, and answers the others with an error that may repeat the file.
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
"""Where the library changes the refresh token of a user into one for a request."""

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    ACCOUNT: ("private_key", "private_key_id", "client_email"),
    USER: ("client_id", "client_secret", "refresh_token"),
}
_KEY_FILE: Final = "store the key file of a service account"
_REFUSED: Final[Mapping[str, str]] = {
    "external_account": (
        "workload identity federation takes a token of another issuer; on GKE, remove "
        f"credentialsSecretRef to use the identity of the pod, elsewhere {_KEY_FILE}"
    ),
    "external_account_authorized_user": f"it needs a login in a browser; {_KEY_FILE}",
    "impersonated_service_account": (
        f"it acts as another account; {_KEY_FILE} that may use the bucket itself"
    ),
    "gdch_service_account": f"it is for Google Distributed Cloud; {_KEY_FILE}",
}


def credential_type(text: str, reference: str) -> str:
    """Return ACCOUNT or USER for the text of a file.

    Raises JobFailure(Config) for any other; it names `reference`, the field with the Secret, and
    shows no value of the file.
    """
    content = _content(text, reference)
    # Files of service accounts that were written by hand often have no type.
    kind = content.get("type", ACCOUNT)
    if not isinstance(kind, str) or kind not in _NEEDED:
        raise JobFailure("Config", f"{reference}: {FILE} has {_refusal(kind)}")
    missing = [name for name in _NEEDED[kind] if not _is_text(content.get(name))]
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
        raise JobFailure("Config", f"{reference}: {FILE} is no JSON; {_KEY_FILE}") from None
    if not isinstance(content, dict):
        raise JobFailure("Config", f"{reference}: {FILE} is no JSON object; {_KEY_FILE}")
    return content


def _refusal(kind: Any) -> str:
    if isinstance(kind, str) and kind in _REFUSED:
        return f"type {kind}: {_REFUSED[kind]}"
    # An unknown type is not shown: it may be a secret in the wrong place.
    return f"a type that is none of Google's: {_KEY_FILE}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())
