"""How a verb of `baoctl` asks the API server, with the identity that a kubeconfig names.

Uses runtime.client.client. Called by every verb that needs a cluster.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

from baoctl.credentials import credentials_of
from baoctl.exit_codes import ExitCode, VerbError
from baoctl.options import Access
from baoctl.settings import Settings, from_environment
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


class AskError(VerbError):
    """There is no answer."""


@dataclass(frozen=True, slots=True)
class Session:
    """An API server, and where a verb works in it."""

    client: Client
    clock: Clock
    namespace: str
    """Of the option -n, else of the context."""


FIELD_MANAGER: Final = "baoctl"
"""Of what a verb writes for its user."""
NOTHING_MORE: Final = ""
_POLICY: Final = "ValidatingAdmissionPolicy"
# First match: subclasses stand before their classes.
_ANSWERS: Final[tuple[tuple[type[Exception], ExitCode, str], ...]] = (
    (NotFound, ExitCode.NOT_FOUND, "check the name, -n and --context"),
    (QuotaExceeded, ExitCode.REFUSED, "raise the quota of the namespace"),
    (Unauthorized, ExitCode.NO_ACCESS, "log in anew, or choose another --context"),
    (Forbidden, ExitCode.NO_ACCESS, "ask for the right; kubectl auth can-i --list shows yours"),
    (AlreadyExists, ExitCode.REFUSED, "choose another name"),
    (Conflict, ExitCode.ERROR, "somebody else wrote it at the same time: try again"),
    (ApplyConflict, ExitCode.REFUSED, "edit it where it is managed"),
    (Invalid, ExitCode.REFUSED, "do what the message says"),
    (EvictionRefused, ExitCode.REFUSED, "wait until the other servers are ready"),
    (RequestTooLarge, ExitCode.REFUSED, "make it smaller"),
    (BadRequest, ExitCode.REFUSED, NOTHING_MORE),
    (TransportError, ExitCode.NO_ACCESS, "check --context, and the network to the API server"),
)


def error_of(error: ApiError | TransportError) -> AskError:
    """Return the error of a verb: what the API server said, the next step, the exit status."""
    for kind, code, step in _ANSWERS:
        if isinstance(error, kind):
            if isinstance(error, Forbidden) and _POLICY in str(error):
                return AskError(f"{error}; do what the message says", ExitCode.REFUSED)
            return AskError(f"{error}; {step}" if step else str(error), code)
    return AskError(f"{error}; try again, then look at the API server")


@asynccontextmanager
async def connected(
    settings: Settings, clock: Clock, verb: str, access: Access | None = None
) -> AsyncIterator[Session]:
    """Open a client that calls itself baoctl/<verb>. Raises AskError without credentials."""
    where = access or Access()
    if where.kubeconfig or where.context:
        chosen = where.kubeconfig or settings.kubeconfig or ""
        settings = dataclasses.replace(settings, kubeconfig=chosen or None)
    try:
        credentials = await credentials_of(settings, clock, where.context)
    except SettingError as error:
        raise AskError(str(error), ExitCode.NO_ACCESS) from None
    client = Client(credentials, user_agent=f"baoctl/{verb}", clock=clock)
    try:
        yield Session(client, clock, where.namespace or credentials.namespace)
    finally:
        await client.close()


def ask(verb: str, question: Callable[[Session], Awaitable[T]], access: Access | None = None) -> T:
    """Put a question, and wait for the answer.

    Raises AskError without credentials, and for whatever the API server refuses or does not
    answer; SettingError for settings that make no sense.
    """
    settings = from_environment()
    try:
        return asyncio.run(_ask(verb, question, settings, access))
    except (ApiError, TransportError) as error:
        raise error_of(error) from None


async def _ask(
    verb: str,
    question: Callable[[Session], Awaitable[T]],
    settings: Settings,
    access: Access | None,
) -> T:
    async with connected(settings, SystemClock(), verb, access) as session:
        return await question(session)
