"""A provider that runs nothing and remembers what it was asked, for embedding and for tests.

Uses contracts.datacenter. What it was asked to run is well at once, unless somebody says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from managers.datacenter.interfaces import ProviderError


@dataclass(frozen=True, slots=True)
class Thing:
    """What is remembered of a row."""

    row_id: str
    digest: str
    vaults: tuple[Vault, ...] = ()
    going: bool = False


class MemoryProvider:
    """A managers.datacenter.interfaces.Provider.

    `calls` is everything that was asked, as "provision shipper"; `things` is what runs, by id of
    the row. The methods after `deprovision` say how services fare; they are told by their names.
    """

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self.calls: list[str] = []
        self.things: dict[str, Thing] = {}
        self._unwell: dict[str, str] = {}
        self._errors: dict[str, list[ProviderError]] = {}
        self._lingering: dict[str, int] = {}

    @property
    def name(self) -> str:
        """What spec.provider of a datacenter calls it."""
        return self._name

    async def observe(self, row: ServiceRecord) -> Observation:
        """Look at what is remembered."""
        self._called("observe", row)
        thing = self.things.get(row.id)
        if thing is None:
            return Observation()
        service = row.desired.service
        well, wanted = row.name not in self._unwell and not thing.going, service.wanted_replicas
        vault = self._vault(row) if well and service.kind == "OpenBaoCluster" else None
        return Observation(
            present=True,
            digest="" if thing.going else thing.digest,
            well=well,
            ready=wanted if well else 0,
            wanted=wanted,
            message=self._unwell.get(row.name, ""),
            provider_ref=f"{self._name}/{row.id}",
            service_refs=tuple(
                sorted((part.name, f"{row.id}/{part.name}") for part in service.services)
            ),
            vault=vault,
        )

    async def provision(self, row: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Remember a row as it asks."""
        self._called("provision", row)
        self.things[row.id] = Thing(row.id, row.desired.digest, vaults)

    async def deprovision(self, row: ServiceRecord) -> bool:
        """Forget a row; False while it lingers."""
        self._called("deprovision", row)
        thing = self.things.get(row.id)
        if thing is None:
            return True
        left = self._lingering.get(row.name, 0)
        if left:
            self._lingering[row.name] = left - 1
            self.things[row.id] = replace(thing, going=True)
            return False
        del self.things[row.id]
        return True

    def fail(self, call: str, *errors: ProviderError) -> None:
        """Answer the next calls that read `call` ("provision shipper") with these, one each."""
        self._errors.setdefault(call, []).extend(errors)

    def make_unwell(self, name: str, message: str = "") -> None:
        """Let a service be not well, until `make_well`; `message` is what it waits for."""
        self._unwell[name] = message

    def make_well(self, name: str) -> None:
        """Let a service be well again."""
        self._unwell.pop(name, None)

    def delay_end(self, name: str, looks: int) -> None:
        """Let what is taken away be there for that many further calls."""
        self._lingering[name] = looks

    def lose(self, row_id: str) -> None:
        """Forget a thing by the id of its row, as if somebody had deleted it by hand."""
        del self.things[row_id]

    def asked(self, verb: str) -> list[str]:
        """The names of the services for which `verb` was called, in order."""
        return [call.partition(" ")[2] for call in self.calls if call.startswith(f"{verb} ")]

    def _called(self, verb: str, row: ServiceRecord) -> None:
        call = f"{verb} {row.name}"
        self.calls.append(call)
        if errors := self._errors.get(call):
            raise errors.pop(0)

    def _vault(self, row: ServiceRecord) -> Vault:
        address = f"https://{row.name}.{row.datacenter.namespace}.svc:8200"
        return Vault(row.name, address, ca_secret=row.name, roles=("jwt/reader",))
