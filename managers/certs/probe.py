"""Reads the certificate that each server serves, in a TLS handshake.

The handshake verifies nothing, because the result is only compared with the certificate in the
Secret. Results are cached until the container restarts. A server is probed again only while it does
not serve the expected certificate.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence

from contracts.naming.ports import API
from contracts.records.observed import PodFacts
from managers.bao.answers import BaoError
from managers.bao.breakers import UnansweredError
from managers.bao.timeouts import TLS, request_timeout
from runtime.limits.tls import unverified_context

TIMEOUT = 2.0
ENTRIES_MAX = 8192

Handshake = Callable[[str, str], Awaitable[str]]
"""Address and server name -> fingerprint of the certificate; "" if the server did not answer."""


async def handshake(address: str, server_name: str) -> str:
    """Return the fingerprint of the certificate at an address; "" if the server does not answer."""
    try:
        writer = await _connect(address, server_name)
    except (BaoError, OSError, ssl.SSLError):
        return ""
    tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
    served = tls.getpeercert(binary_form=True)
    writer.close()
    with contextlib.suppress(OSError, TimeoutError, ssl.SSLError):
        async with asyncio.timeout(TIMEOUT):
            await writer.wait_closed()
    # A server that continues to send would keep the connection open for half a minute.
    writer.transport.abort()
    return hashlib.sha256(served).hexdigest() if served else ""


async def _connect(address: str, server_name: str) -> asyncio.StreamWriter:
    with request_timeout(address, "the handshake", TIMEOUT, TLS) as seconds:
        try:
            async with asyncio.timeout(seconds):
                _, writer = await asyncio.open_connection(
                    address,
                    API.number,
                    ssl=unverified_context(),
                    server_hostname=server_name,
                )
        except TimeoutError as error:
            raise UnansweredError(f"the handshake of {address}: no answer") from error
    return writer


class ServedCertificates:
    """Fingerprints of the certificates that the servers of all clusters serve."""

    def __init__(self, handshake_of: Handshake = handshake) -> None:
        self._handshake = handshake_of
        self._fingerprints: OrderedDict[str, tuple[int, str]] = OrderedDict()

    async def of(
        self, pods: Sequence[PodFacts], expected: str, server_name: str
    ) -> Mapping[str, str]:
        """Return the fingerprint that each ready pod serves, by UID.

        A server that is known to serve the expected certificate is not probed again.
        """
        by_uid = {pod.uid: expected for pod in pods if pod.ready and pod.ip}
        pending = [
            pod
            for pod in pods
            if pod.uid in by_uid and self._fingerprints.get(pod.uid) != (pod.restarts, expected)
        ]
        answers = await asyncio.gather(*(self._handshake(pod.ip, server_name) for pod in pending))
        for pod, served in zip(pending, answers, strict=True):
            by_uid[pod.uid] = served
            self._fingerprints[pod.uid] = (pod.restarts, served)
            self._fingerprints.move_to_end(pod.uid)
        while len(self._fingerprints) > ENTRIES_MAX:
            # The oldest entries are most likely of deleted pods; other pods are probed again.
            self._fingerprints.popitem(last=False)
        return by_uid

    def __len__(self) -> int:
        return len(self._fingerprints)
