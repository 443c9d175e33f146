"""The two ports of a server; fixed, because policies and clients depend on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Port:
    """A TCP port with its name."""

    name: str
    number: int

    def service_port(self) -> dict[str, Any]:
        """Return an entry of a Service. The protocol is explicit: it is part of the merge key."""
        return {
            "name": self.name,
            "port": self.number,
            "targetPort": self.number,
            "protocol": "TCP",
        }

    def container_port(self) -> dict[str, Any]:
        """Return an entry of a container."""
        return {"name": self.name, "containerPort": self.number, "protocol": "TCP"}

    def policy_port(self) -> dict[str, Any]:
        """Return an entry of a NetworkPolicy rule."""
        return {"port": self.number, "protocol": "TCP"}


API = Port("api", 8200)
CLUSTER = Port("cluster", 8201)
