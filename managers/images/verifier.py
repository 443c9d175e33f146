"""Verifies images, and caches the verdicts.

A verdict comes from the annotation of the live StatefulSet, else from the cache of this process,
else from the registry, within five seconds. A verified image that runs is never verified again, so
neither a registry that is down nor a moved tag affects a running cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from contracts import image_reference
from contracts.image_reference import ImageReference
from contracts.records.observed import ImageVerdict
from managers.images.cosign import VerificationError
from managers.images.credentials import PullSecretError, RegistryLogin, login_for
from managers.images.policy import VerificationRequest, cache_key, read_verdict, record
from managers.images.registry import RegistryError, RegistrySession
from managers.images.signatures import verify_image
from managers.images.trust import Trust
from runtime.builtin_kinds import SECRET
from runtime.cache.cached_read import TtlCache
from runtime.client.client import Client
from runtime.clock import Clock, Deadline
from runtime.errors import Forbidden, NotFound
from runtime.types import Object, ObjectKey

TIMEOUT = 5.0
"""Maximum seconds of one verification."""
VERIFIED_TTL = 300.0
"""Seconds for which a verdict is cached; a StatefulSet usually records it earlier."""
REFUSED_RECHECK = 30.0
"""Seconds to the next verification after a user has to act."""
UNREACHABLE_RECHECK = 15.0
"""Seconds to the next verification after the registry did not respond."""
_VERDICTS_MAX = 256
# A registry that does not respond blocks a worker for TIMEOUT. Therefore a process runs at most
# this many verifications at the same time, and one per namespace.
_CONCURRENT_MAX = 2
_BUSY_RECHECK = 1.0


class ImageVerifier:
    """Verifies images for all clusters of this process."""

    def __init__(self, client: Client, clock: Clock, trust: Trust | None = None) -> None:
        self._client = client
        self._clock = clock
        self._trust = trust or Trust()
        # The namespace is part of the key, so namespaces do not share verdicts.
        self._verdicts: TtlCache[tuple[str, str], ImageVerdict] = TtlCache(clock, _VERDICTS_MAX)
        self._running: list[str] = []

    async def verdicts(
        self, requests: Iterable[VerificationRequest | None], records: Iterable[str]
    ) -> Mapping[str, ImageVerdict]:
        """Return verdicts by reference. `records` are the annotations of the live StatefulSet."""
        texts = tuple(text for text in records if text)
        verdicts = {}
        for request in requests:
            if request is not None:
                verdicts[request.reference] = await self.verdict(request, texts)
        return verdicts

    async def verdict(
        self, request: VerificationRequest, records: Iterable[str] = ()
    ) -> ImageVerdict:
        """Return one verdict. Raises the errors of the API server when it reads a pull secret."""
        key = cache_key(request, self._trust.root.digest)
        for text in records:
            stored = read_verdict(request, key, text)
            if stored is not None:
                return stored
        slot = (request.namespace, key)
        cached = self._verdicts.get(slot)
        if cached is not None:
            return cached
        if len(self._running) >= _CONCURRENT_MAX or request.namespace in self._running:
            return ImageVerdict(
                request.reference,
                problem="unreachable",
                message=f"image {request.reference}: waiting for another verification to end",
                retry_after=_BUSY_RECHECK,
            )
        verdict = await self._verify(request, key)
        seconds = verdict.retry_after or VERIFIED_TTL
        self._verdicts.put(slot, verdict, self._clock.monotonic() + seconds)
        return verdict

    async def _verify(self, request: VerificationRequest, key: str) -> ImageVerdict:
        self._running.append(request.namespace)
        try:
            reference = image_reference.parse(request.reference)
            login = await self._login(request, reference)
            async with Deadline(self._clock, TIMEOUT):
                pinned = reference.pinned(await self._verified_digest(reference, request, login))
        except (VerificationError, PullSecretError) as error:
            return _problem(request, "unverified", str(error))
        except ValueError as error:
            return _problem(request, "unverified", f"the policy cannot be used: {error}")
        except RegistryError as error:
            return _problem(request, "unverified" if error.lasting else "unreachable", str(error))
        except TimeoutError:
            return _problem(
                request, "unreachable", f"the registry took more than {TIMEOUT:.0f} seconds"
            )
        finally:
            self._running.remove(request.namespace)
        return ImageVerdict(request.reference, pinned=pinned, record=record(key, pinned))

    async def _verified_digest(
        self, reference: ImageReference, request: VerificationRequest, login: RegistryLogin | None
    ) -> str:
        insecure = reference.registry in self._trust.insecure_registries
        async with RegistrySession(
            reference.host, reference.repository, login, insecure=insecure
        ) as registry:
            return await verify_image(registry, reference, request, self._trust.root)

    async def _login(
        self, request: VerificationRequest, reference: ImageReference
    ) -> RegistryLogin | None:
        """Read the pull secrets by name, and return the login for the image."""
        secrets: list[Object] = []
        for name in request.pull_secrets:
            try:
                secret = await self._client.get(SECRET, ObjectKey(request.namespace, name))
            except (NotFound, Forbidden):
                # A public registry needs no pull secret.
                continue
            secrets.append(secret)
        return login_for(reference, secrets)


def _problem(request: VerificationRequest, problem: str, text: str) -> ImageVerdict:
    unreachable = problem == "unreachable"
    return ImageVerdict(
        request.reference,
        problem="unreachable" if unreachable else "unverified",
        message=f"image {request.reference}: {text}",
        retry_after=UNREACHABLE_RECHECK if unreachable else REFUSED_RECHECK,
    )
