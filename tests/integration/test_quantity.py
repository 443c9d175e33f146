"""Quantities are formatted as a real API server stores them."""

from typing import Any

from runtime.apply.intent import Intent
from runtime.client.client import Client
from runtime.quantity import canonical, parse
from runtime.types import Resource
from tests.runtime.quantities import FORMS

QUOTA = Resource("", "v1", "ResourceQuota", "resourcequotas")
CLASS = "storageclass.storage.k8s.io/requests.storage"

# A quota refuses values that it cannot represent in thousandths.
LARGEST = 2**63 // 1000

# Every suffix, below and above the values at which the server changes the suffix.
_TEXTS = (
    *(
        f"{count}{suffix}"
        for suffix in ("", *"kMGTP", "Ki", "Mi", "Gi", "Ti", "Pi")
        for count in (1, 2, 7, 10, 12, 100, 512, 999, 1000, 1023, 1024, 1025, 1536, 2048, 5000)
    ),
    *(f"{count}e{power}" for count in (1, 12, 120, 1200, 12345) for power in range(13)),
    *(f"{count}.0{suffix}" for count in (1, 3, 1024) for suffix in ("", "k", "Ki", "Gi")),
    *(f"0{count}" for count in (1, 10, 1000)),
    *("1000m", "5000m", "1000000u", "2000000000n", "+1", "1.", "1.5k", "1.5Ki", "0.5Gi", "1.024M"),
)
WRITTEN = tuple(text for text in _TEXTS if parse(text) < LARGEST)


async def test_t25_the_server_keeps_a_canonical_quantity(client: Client, namespace: str) -> None:
    """A quota accepts whole numbers, and many of them in one object."""
    whole = {text: canonical(text) for text in WRITTEN}
    assert all(form[-1] not in "mun" for form in whole.values())
    hard = {f"s{n}.{CLASS}": form for n, form in enumerate(whole.values())}
    assert await _stored_value(client, QUOTA, namespace, {"hard": hard}) == {"hard": hard}
    as_written = {f"s{n}.{CLASS}": text for n, text in enumerate(whole)}
    assert Intent(QUOTA, {"metadata": {"name": "q"}, "spec": {"hard": as_written}}).body[
        "spec"
    ] == {"hard": hard}


async def test_t25_the_server_stores_the_same_canonical_form(
    client: Client, namespace: str
) -> None:
    """A text that the server normalizes has the same canonical form here."""
    texts = [text for text in WRITTEN if text not in _KEPT_AS_WRITTEN and "e0" not in text]
    hard = {f"s{n}.{CLASS}": text for n, text in enumerate(texts)}
    stored = await _stored_value(client, QUOTA, namespace, {"hard": hard})
    assert list(stored["hard"].values()) != texts
    assert {text: stored["hard"][name] for name, text in hard.items()} == {
        text: canonical(text) for text in texts
    }


async def test_t25_fractions_are_kept_too(client: Client, namespace: str) -> None:
    fractions = sorted(
        {form for _, form in FORMS.values() if form[-1] == "m" and form[0] != "-"} | {"1", "250m"}
    )
    for text in fractions:
        hard = {"limits.cpu": text}
        assert await _stored_value(client, QUOTA, namespace, {"hard": hard}) == {"hard": hard}


# The server stores some texts unchanged if the scale fits, also with a plus sign or e0.
_KEPT_AS_WRITTEN = frozenset({"+1", "1.", "1.024M", "01", "010"})


async def _stored_value(client: Client, resource: Resource, namespace: str, spec: Any) -> Any:
    metadata = {"name": "q", "namespace": namespace}
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}
    response = await client.apply(
        resource, {**body, "spec": spec}, field_manager="itest", force=True, dry_run=True
    )
    return response.object["spec"]
