"""Campaign C18: forbidden specs are refused by the API server, and again by the operator.

A real API server with the CRD and the policy for free-form data, dry runs only. Each forbidden spec
of the table, each URL field with each URL of the table, and a seeded sample of hostile texts in
every text field of a spec. If a rule refuses, both refuse with the message of that rule.
"""

import asyncio
import copy
import random
import re
import time
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
import pytest_asyncio

from baoctl.generate.admission import parameters
from contracts.admission.policy import as_objects
from contracts.admission.unstructured_fields import VALIDATE_FREE_DATA
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.group import CLUSTERS
from contracts.api.rules.cluster import RULES, violations
from contracts.api.violation import InvalidClusterError, Violation
from e2e.attacks.payloads import TEXTS, URLS
from e2e.attacks.specs import ATTEMPTS, URL_FIELDS, Attempt, with_url
from e2e.harness.waiting import until
from e2e.rig import Rig, RigError
from runtime.client.client import Client
from runtime.errors import ApiError
from runtime.types import Object
from tests.contracts.api.clusters import MANIFESTS, cluster_object
from tests.managers.cluster.hostile_names import strings, with_text

SEED = 18
PER_TEXT = 2
AT_ONCE = 16
SECONDS_MAX = 0.2
BYTES_MAX = 20 << 20
# The part of a message that the API server never truncates.
WORDS = {rule.id: rule.message[:150] for rule in RULES}
# Rules that CEL cannot express: parsing a key or a schedule, comparing versions or items of a list,
# checking many texts. None of them protects objects of other users.
OF_CODE = frozenset(rule.id for rule in RULES if not rule.cel)


@pytest.fixture(scope="module")
def control_plane_with_policy(control_plane_with_crds: Rig) -> Iterator[Rig]:
    """The control plane with the CRDs and the policy."""
    objects = [parameters("default"), *as_objects(VALIDATE_FREE_DATA, "default")]
    whole = orjson.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).decode()
    control_plane_with_crds.kubectl("apply", "-f", "-", input=whole)
    _await_policy(control_plane_with_crds)
    yield control_plane_with_crds
    control_plane_with_crds.kubectl("delete", "-f", "-", input=whole)


def _await_policy(rig: Rig) -> None:
    """Wait until the policy is enforced."""
    forbidden = next(attempt for attempt in ATTEMPTS if attempt.rule == "audit-options-known")
    body = orjson.dumps(_body("default", forbidden.spec)).decode()

    def refuses() -> bool:
        try:
            rig.kubectl("create", "--dry-run=server", "-f", "-", input=body)
        except RigError as error:
            return WORDS[forbidden.rule] in str(error)
        return False

    until("the policy refuses", refuses, 30.0, every=0.2)


def _body(namespace: str, spec: dict[str, Any], name: str = "c") -> Object:
    body = cluster_object(name, **spec)
    body["metadata"]["namespace"] = namespace
    return body


def by_code(body: Object) -> list[Violation]:
    """Return the violations that the operator finds in an object."""
    try:
        return list(violations(OpenBaoCluster.from_object(body)))
    except InvalidClusterError as error:
        return list(error.violations)


@pytest_asyncio.fixture
async def server(control_plane_with_policy: Rig, client: Client, namespace: str) -> "Server":
    return Server(client, namespace)


class Server:
    """Concurrent dry-run requests to the API server."""

    def __init__(self, client: Client, namespace: str) -> None:
        self._client, self.namespace = client, namespace
        self._turn = asyncio.Semaphore(AT_ONCE)

    async def refusal(self, body: Object) -> str:
        """Return the error of creating an object; "" if it is accepted."""
        body = copy.deepcopy(body)
        body["metadata"]["namespace"] = self.namespace
        async with self._turn:
            try:
                await self._client.create(CLUSTERS, body, field_manager="itest", dry_run=True)
            except ApiError as error:
                causes = getattr(error, "causes", ())
                return "\n".join(
                    (str(error), *(f"{cause.field}: {cause.message}" for cause in causes))
                )
        return ""

    async def refusals(self, bodies: list[Object]) -> list[str]:
        return await asyncio.gather(*map(self.refusal, bodies))


def _complaint(attempt: Attempt, refusal: str) -> str:
    """Return what is wrong with the response of the API server to an attempt; "" if nothing is."""
    if not refusal:
        return "accepted"
    if attempt.rule != "schema" and WORDS[attempt.rule] not in refusal:
        return f"with another message: {refusal}"
    outermost = ".".join(re.split(r"\[|\.", attempt.field)[:2])
    return "" if outermost in refusal else f"without the field: {refusal}"


async def test_attack_c18_every_forbidden_spec_is_refused_twice(server: Server) -> None:
    bodies = [_body("ns", attempt.spec) for attempt in ATTEMPTS]
    refusals = await server.refusals(bodies)
    wrong = {
        attempt.name: complaint
        for attempt, words in zip(ATTEMPTS, refusals, strict=True)
        if (complaint := _complaint(attempt, words))
    }
    assert wrong == {}
    for attempt, body in zip(ATTEMPTS, bodies, strict=True):
        assert [(violation.rule, violation.field) for violation in by_code(body)] == [
            (attempt.rule, attempt.field)
        ]


@pytest.mark.parametrize("field", URL_FIELDS)
async def test_attack_t09_every_url_is_refused_twice_in_every_field(
    server: Server, field: str
) -> None:
    fine = _body("ns", with_url(field, "https://bao.example.com"))
    assert by_code(fine) == []
    bodies = [fine, *(_body("ns", with_url(field, url)) for url in URLS)]
    accepted, *messages = await server.refusals(bodies)
    assert accepted == ""
    for url, body, words in zip(URLS, bodies[1:], messages, strict=True):
        code = by_code(body)
        assert [violation for violation in code if violation.field == field], url
        assert words, url
        for violation in code:
            # An empty text is refused by the schema of the field.
            assert violation.rule == "schema" or WORDS[violation.rule] in words, (url, violation)


def _hostile() -> list[tuple[str, str, Object]]:
    """Field, text and object: some texts for every text field of a spec, the same in each run."""
    chosen = random.Random(SEED)
    results = []
    seen: set[str] = set()
    for manifest in MANIFESTS.values():
        for path in strings(manifest["spec"]):
            place = ".".join("[]" if isinstance(step, int) else step for step in path)
            if place in seen:
                continue
            seen.add(place)
            texts = chosen.sample(TEXTS, PER_TEXT)
            results += [(place, text, with_text(manifest, path, text)) for text in texts]
    return results


@pytest.mark.timeout(400)
async def test_attack_c18_schema_and_operator_refuse_the_same_texts(server: Server) -> None:
    """With the same message if there is a rule. Accepted texts are never interpreted (T02)."""
    hostile = _hostile()
    refusals = await server.refusals([body for _, _, body in hostile])
    counted: Counter[str] = Counter()
    apart = []
    for (place, text, body), words in zip(hostile, refusals, strict=True):
        code = by_code(body)
        rules = {violation.rule for violation in code}
        if bool(words) == bool(code):
            counted["refused twice" if words else "taken as text"] += 1
        elif rules and rules <= OF_CODE:
            counted["refused by code alone"] += 1
        else:
            apart.append((place, text[:60], rules, words[:300]))
    assert apart == []
    assert counted["refused twice"] > 300
    # Texts with NUL, which the configuration of the server cannot have, and invalid keys.
    assert counted["refused by code alone"] < 100
    assert len({place for place, _, _ in hostile}) > 200


def test_attack_t10_no_forbidden_spec_costs_the_operator_much() -> None:
    """Each takes at most 200 ms of CPU time and 20 MB."""
    bodies = [_body("ns", attempt.spec) for attempt in ATTEMPTS]
    bodies += [body for _, _, body in _hostile()]
    # Without tracemalloc, which makes everything several times slower.
    slowest = 0.0
    for body in bodies:
        began = time.process_time()
        by_code(body)
        slowest = max(slowest, time.process_time() - began)
    tracemalloc.start()
    try:
        for body in bodies[:: max(1, len(bodies) // 100)]:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            by_code(body)
            assert tracemalloc.get_traced_memory()[1] - before < BYTES_MAX
    finally:
        tracemalloc.stop()
    assert slowest < SECONDS_MAX
