"""The API client of the verbs of `baoctl`, with the credentials of the user.

Uses runtime.client.client. Called by every verb that sends requests to an API server.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from baoctl.api_server_settings import api_server_settings
from baoctl.credentials import credentials_of
from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import Access
from baoctl.variables import SettingError
from runtime.client.client import Client
from runtime.clock import Clock, SystemClock
from runtime.errors import (
    AlreadyExists,
    ApiError,
    ApplyConflict,
    BadRequest,
    Conflict,
    EvictionRefused,
    Forbidden,
    Invalid,
    NotFound,
    QuotaExceeded,
    RequestTooLarge,
    TransportError,
    Unauthorized,
)

T = TypeVar("T")


class RequestError(VerbError):
    """A request to the API server or to OpenBao failed, or its result cannot be used."""


@dataclass(frozen=True, slots=True)
class Session:
    """A client of an API server, and the namespace of the verb."""

    client: Client
    clock: Clock
    namespace: str
    """From the option -n, otherwise from the context."""


FIELD_MANAGER: Final = "baoctl"
"""Field manager of the writes of a verb."""
_NO_STEP: Final = ""
_POLICY: Final = "ValidatingAdmissionPolicy"
# The first match applies, so subclasses come before their base classes.
_ERRORS: Final[tuple[tuple[type[Exception], ExitCode, str], ...]] = (
    (NotFound, ExitCode.NOT_FOUND, "check the name, -n and --context"),
    (QuotaExceeded, ExitCode.REFUSED, "raise the quota of the namespace"),
    (Unauthorized, ExitCode.NO_ACCESS, "log in again, or choose another --context"),
    (
        Forbidden,
        ExitCode.NO_ACCESS,
        "request this right; kubectl auth can-i --list shows your rights",
    ),
    (AlreadyExists, ExitCode.REFUSED, "choose another name"),
    (Conflict, ExitCode.ERROR, "another client changed it at the same time: try again"),
    (ApplyConflict, ExitCode.REFUSED, "change it with the tool that manages these fields"),
    (Invalid, ExitCode.REFUSED, "correct the fields in the message"),
    (EvictionRefused, ExitCode.REFUSED, "wait until the other servers are ready"),
    (RequestTooLarge, ExitCode.REFUSED, "reduce its size"),
    (BadRequest, ExitCode.REFUSED, _NO_STEP),
    (TransportError, ExitCode.NO_ACCESS, "check --context, and the network to the API server"),
)


def error_of(error: ApiError | TransportError) -> RequestError:
    """Return the error of a verb: the message, the next step and the exit status."""
    for kind, code, step in _ERRORS:
        if isinstance(error, kind):
            if isinstance(error, Forbidden) and _POLICY in str(error):
                return RequestError(f"{error}; follow the message", ExitCode.REFUSED)
            return RequestError(f"{error}; {step}" if step else str(error), code)
    return RequestError(f"{error}; try again, then check the API server")


@asynccontextmanager
async def open_session(
    verb: str, clock: Clock, access: Access | None = None
) -> AsyncIterator[Session]:
    """Open a client with the user agent baoctl/<verb>.

    Raises RequestError if there are no credentials, and SettingError for invalid settings.
    """
    settings, options = api_server_settings(), access or Access()
    if options.kubeconfig:
        settings = dataclasses.replace(settings, kubeconfig=options.kubeconfig)
    if options.context and not settings.kubeconfig:
        text = "--context needs a kubeconfig, and KUBERNETES_SERVICE_HOST is set, so this is a pod"
        raise RequestError(f"{text}; choose the file with --kubeconfig", ExitCode.USAGE)
    try:
        credentials = await credentials_of(settings, clock, options.context)
    except SettingError as error:
        raise RequestError(str(error), ExitCode.NO_ACCESS) from None
    client = Client(credentials, user_agent=f"baoctl/{verb}", clock=clock)
    try:
        yield Session(client, clock, options.namespace or credentials.namespace)
    finally:
        await client.close()


def run_in_session(
    verb: str, run: Callable[[Session], Awaitable[T]], access: Access | None = None
) -> T:
    """Run the requests of a verb in a session, and return their result.

    Raises RequestError if there are no credentials or a request fails, and SettingError for invalid
    settings.
    """
    try:
        return asyncio.run(_run_in_session(verb, run, access))
    except (ApiError, TransportError) as error:
        raise error_of(error) from None


async def _run_in_session(
    verb: str,
    run: Callable[[Session], Awaitable[T]],
    access: Access | None,
) -> T:
    async with open_session(verb, SystemClock(), access) as session:
        return await run(session)
