"""An operator whose API server cannot stream lists: it needs the verb `list`."""

from collections.abc import Collection, Mapping

from e2e.harness.audit import AuditLog
from e2e.harness.installation import Identity
from e2e.harness.operator import Launcher
from e2e.harness.waiting import until
from runtime.types import Resource


def list_every_kind(
    launcher: Launcher,
    audit: AuditLog,
    identity: Identity,
    kinds: Collection[Resource],
    *command: str,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command of baoctl until it lists these kinds.

    Its caches start after the election, so waiting for the election is not enough.
    """
    mark, plurals = audit.mark(), {kind.plural for kind in kinds}
    module = ("e2e.harness.listing_operator", *command)
    lister = launcher.start(identity, module=module, environment=environment)

    def missing() -> set[str]:
        entries = audit.since(mark, identity.user)
        return plurals - {entry.resource for entry in entries if entry.verb == "list"}

    until("every kind is listed", lambda: not missing(), 60.0)
    assert lister.stop() == 0, lister.tail()
