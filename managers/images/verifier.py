"""Verdicts about images, with a cache: the registry is read only for unknown ones.

First the annotation of the live StatefulSet, then the cache of this process, then the registry,
within five seconds. A verified image that runs is never verified again, so neither a registry that
is down nor a moved tag affects a running cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts import image_reference
from contracts.image_reference import ImageReference
from contracts.records.observed import ImageVerdict
from managers.images.cosign import NotProvenError
from managers.images.credentials import PullSecretError, RegistryLogin, login_for
from managers.images.policy import VerificationRequest, answer_key, record, recorded
from managers.images.registry import RegistryError, RegistrySession
from managers.images.signatures import prove
from managers.images.trust import Trust
from runtime.builtin_kinds import SECRET
from runtime.cache.cached_read import TtlCache
from runtime.client.client import Client
from runtime.clock import Clock, Deadline
from runtime.errors import Forbidden, NotFound
from runtime.types import Object, ObjectKey

BUDGET = 5.0
# How long a verdict is valid that no StatefulSet has recorded yet.
PROVEN_FOR = 300.0
REFUSED_FOR = 30.0
UNREACHABLE_FOR = 15.0
_MOST = 256
# A registry that does not answer blocks a worker for the whole budget: never all of them, and
# never more than one for the clusters of one namespace.
_AT_ONCE = 2
_BUSY_FOR = 1.0


class ImageVerifier:
    """Verifies images for all clusters of this process."""

    def __init__(self, client: Client, clock: Clock, trust: Trust | None = None) -> None:
        self._client = client
        self._clock = clock
        self._trust = trust or Trust()
        # The namespace is part of the key: a verdict is not shared with another namespace.
        self._answers: TtlCache[tuple[str, str], ImageVerdict] = TtlCache(clock, _MOST)
        self._running: list[str] = []

    async def verdicts(
        self, questions: Iterable[VerificationRequest | None], records: Iterable[str]
    ) -> Mapping[str, ImageVerdict]:
        """Return verdicts by reference. `records` are the annotations of the live StatefulSet."""
        texts = tuple(text for text in records if text)
        answers = {}
        for question in questions:
            if question is not None:
                answers[question.reference] = await self.verdict(question, texts)
        return answers

    async def verdict(
        self, question: VerificationRequest, records: Iterable[str] = ()
    ) -> ImageVerdict:
        """Return one verdict. Raises errors of the API server when a pull secret is read."""
        key = answer_key(question, self._trust.root.digest)
        for text in records:
            stored = recorded(question, key, text)
            if stored is not None:
                return stored
        slot = (question.namespace, key)
        kept = self._answers.get(slot)
        if kept is not None:
            return kept
        if len(self._running) >= _AT_ONCE or question.namespace in self._running:
            return ImageVerdict(
                question.reference,
                problem="unreachable",
                message=f"image {question.reference}: waits its turn to be verified",
                retry_after=_BUSY_FOR,
            )
        verdict = await self._verify(question, key)
        seconds = verdict.retry_after or PROVEN_FOR
        self._answers.put(slot, verdict, self._clock.monotonic() + seconds)
        return verdict

    async def _verify(self, question: VerificationRequest, key: str) -> ImageVerdict:
        self._running.append(question.namespace)
        try:
            reference = image_reference.parse(question.reference)
            login = await self._login(question, reference)
            async with Deadline(self._clock, BUDGET):
                pinned = reference.pinned(await self._prove(reference, question, login))
        except (NotProvenError, PullSecretError) as error:
            return _problem(question, "unproven", str(error))
        except ValueError as error:
            return _problem(question, "unproven", f"the policy cannot be used: {error}")
        except RegistryError as error:
            return _problem(question, "unproven" if error.lasting else "unreachable", str(error))
        except TimeoutError:
            return _problem(
                question, "unreachable", f"the registry took more than {BUDGET:.0f} seconds"
            )
        finally:
            self._running.remove(question.namespace)
        return ImageVerdict(question.reference, pinned=pinned, record=record(key, pinned))

    async def _prove(
        self, reference: ImageReference, question: VerificationRequest, login: RegistryLogin | None
    ) -> str:
        insecure = reference.registry in self._trust.insecure_registries
        async with RegistrySession(
            reference.host, reference.repository, login, insecure=insecure
        ) as registry:
            return await prove(registry, reference, question, self._trust.root)

    async def _login(
        self, question: VerificationRequest, reference: ImageReference
    ) -> RegistryLogin | None:
        """Read the pull secrets by name, and return one login."""
        secrets: list[Object] = []
        for name in question.pull_secrets:
            try:
                secret = await self._client.get(SECRET, ObjectKey(question.namespace, name))
            except (NotFound, Forbidden):
                # A public registry needs none of the missing Secrets.
                continue
            secrets.append(secret)
        return login_for(reference, secrets)


def _problem(question: VerificationRequest, problem: str, text: str) -> ImageVerdict:
    unreachable = problem == "unreachable"
    return ImageVerdict(
        question.reference,
        problem="unreachable" if unreachable else "unproven",
        message=f"image {question.reference}: {text}",
        retry_after=UNREACHABLE_FOR if unreachable else REFUSED_FOR,
    )
