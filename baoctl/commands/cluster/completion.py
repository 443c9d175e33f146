"""Lists the names of clusters for the completion of a command line.

Uses runtime.client.client. Called by baoctl.verbs.cluster_argument.
"""

from __future__ import annotations

from typing import Final

from baoctl.commands.api_client import RequestError, Session, run_in_session
from baoctl.options import Access
from baoctl.variables import SettingError
from contracts.api.group import CLUSTERS
from runtime.client.listing import ListOptions
from runtime.clock import Deadline
from runtime.types import key_of

SECONDS: Final = 3.0
"""Time limit: the shell does not respond until the completion ends."""


def cluster_names(access: Access) -> tuple[str, ...]:
    """Return the names of the clusters of the namespace; () if they cannot be read in time."""

    async def run(api: Session) -> tuple[str, ...]:
        async with Deadline(api.clock, SECONDS):
            listing = await api.client.list(
                CLUSTERS, api.namespace, options=ListOptions(metadata_only=True)
            )
        return tuple(sorted(key_of(cluster).name for cluster in listing.items))

    try:
        return run_in_session("completion", run, access)
    except (RequestError, SettingError, TimeoutError):
        return ()
