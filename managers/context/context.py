"""The dependencies of effects and observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from contracts.naming import labels
from managers.context.attempt_log import AttemptLog
from runtime.apply.ownership import OwnershipKeys

if TYPE_CHECKING:
    # At runtime, the command line needs only the imports above.
    from managers.context.reads.secrets import SecretSink
    from runtime.client.client import Client
    from runtime.clock import Clock
    from runtime.events import EventRecorder

FIELD_MANAGER = "openbao-operator"
MARKS = OwnershipKeys(
    owner_uid=labels.OWNER_UID, intent_hash=labels.INTENT_HASH, adopt=labels.ADOPT
)

RandomBytes = Callable[[int], bytes]
"""A source of key material: returns n cryptographically random bytes."""


@dataclass(frozen=True, slots=True)
class Context:
    """The dependencies of all code with side effects."""

    client: Client
    secrets: SecretSink
    clock: Clock
    random_bytes: RandomBytes
    events: EventRecorder
    attempts: AttemptLog = field(default_factory=AttemptLog)
