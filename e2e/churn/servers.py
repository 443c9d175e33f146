"""Simulated OpenBao servers, each at a separate loopback address.

TLS is real, with the certificate of the cluster. The address of a deleted pod is reused.
"""

import ssl
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from contracts.naming.ports import API
from managers.bao.client import AUTOPILOT_SETTINGS

ADDRESSES = "127.88.0.{}"


@dataclass(slots=True)
class Server:
    """One address. `pod` and `cluster` are "" while it is free."""

    address: str
    context: ssl.SSLContext
    cluster: str = ""
    pod: str = ""
    leads: bool = False


@dataclass(slots=True)
class Servers:
    """All addresses, and the data of the clusters behind them."""

    version: str
    servers: dict[str, Server] = field(default_factory=dict)
    settings: dict[str, dict[str, Any]] = field(default_factory=lambda: defaultdict(dict))
    runners: list[web.AppRunner] = field(default_factory=list)

    async def listen(self, count: int) -> None:
        """Serve that many addresses. Raises OSError if one is in use."""
        for number in range(1, count + 1):
            address = ADDRESSES.format(number)
            server = Server(address, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
            application = web.Application()
            application["server"] = server
            application.router.add_route("*", "/v1/{path:.*}", self._answer)
            runner = web.AppRunner(application, access_log=None)
            await runner.setup()
            self.runners.append(runner)
            await web.TCPSite(runner, address, API.number, ssl_context=server.context).start()
            self.servers[address] = server

    async def close(self) -> None:
        """Stop all of them."""
        for runner in self.runners:
            await runner.cleanup()

    def start(self, cluster: str, pod: str, *, leads: bool, pair: tuple[bytes, bytes]) -> str:
        """Assign a free address to a pod. Raises LookupError if there is none."""
        free = (candidate for candidate in self.servers.values() if not candidate.pod)
        server = next(free, None)
        if server is None:
            raise LookupError(f"no address is left for pod {pod}")
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
            certificate.write_bytes(pair[0])
            key.write_bytes(pair[1])
            server.context.load_cert_chain(certificate, key)
        server.cluster, server.pod, server.leads = cluster, pod, leads
        return server.address

    def keep(self, pods: Iterable[str]) -> None:
        """Free the addresses of all other pods."""
        kept = set(pods)
        for server in self.servers.values():
            if server.pod not in kept:
                server.cluster = server.pod = ""

    async def _answer(self, request: web.Request) -> web.Response:
        server: Server = request.app["server"]
        if not server.pod:
            # Nothing listens at the address of a deleted pod.
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        path = request.match_info["path"]
        stored = self.settings[server.cluster]
        if request.method in ("POST", "PUT"):
            return await self._write(request, path, stored)
        known: dict[str, Callable[[], dict[str, Any]]] = {
            "sys/health": lambda: self._health(server),
            "sys/leader": lambda: self._leader(server),
            "sys/storage/raft/configuration": lambda: self._members(server),
            "sys/storage/raft/autopilot/state": lambda: {"data": self._autopilot(server)},
        }
        if path in known:
            return web.json_response(known[path]())
        if path in stored or path == AUTOPILOT_SETTINGS:
            return web.json_response({"data": stored.get(path, {})})
        return web.json_response({"errors": []}, status=404)

    async def _write(self, request: web.Request, path: str, stored: dict[str, Any]) -> web.Response:
        if path.endswith("/login"):
            token = {"client_token": "t" * 95, "lease_duration": 3600}
            return web.json_response({"auth": token})
        body = await request.json() if request.can_read_body else {}
        stored[path] = {**stored.get(path, {}), **body}
        return web.Response(status=204)

    def _health(self, server: Server) -> dict[str, Any]:
        return {
            "initialized": True,
            "sealed": False,
            "standby": not server.leads,
            "version": self.version,
            "cluster_id": server.cluster,
        }

    def _leader(self, server: Server) -> dict[str, Any]:
        leader = next((peer for peer in self._of(server) if peer.leads), None)
        address = f"https://{leader.pod}:{API.number}" if leader else ""
        return {
            "leader_address": address,
            "raft_applied_index": 100,
            "raft_committed_index": 100,
        }

    def _members(self, server: Server) -> dict[str, Any]:
        members = [
            {"node_id": peer.pod, "leader": peer.leads, "voter": True} for peer in self._of(server)
        ]
        return {"data": {"config": {"servers": members}}}

    def _autopilot(self, server: Server) -> dict[str, Any]:
        of = self._of(server)
        state = {True: "leader", False: "voter"}
        servers = {
            peer.pod: {"healthy": True, "status": state[peer.leads], "last_index": 100}
            for peer in of
        }
        return {
            "healthy": True,
            "failure_tolerance": (len(of) - 1) // 2,
            "leader": next((peer.pod for peer in of if peer.leads), ""),
            "voters": [*servers],
            "servers": servers,
        }

    def _of(self, server: Server) -> list[Server]:
        return [peer for peer in self.servers.values() if peer.cluster == server.cluster]
