"""A policy for signed images, and a verifier with the verdicts of a test."""

from collections.abc import Iterable, Mapping

from contracts.records.observed import ImageVerdict
from managers.images.policy import VerificationRequest
from managers.images.verifier import ImageVerifier
from tests.contracts.api.cases_images import KEY

POLICY = {"enabled": True, "publicKey": KEY, "ignoreTlog": True}


class RecordingVerifier(ImageVerifier):
    """Returns these verdicts, and records the requests."""

    def __init__(self, answers: Mapping[str, ImageVerdict] | None = None) -> None:
        self.answers = answers or {}
        self.questions: list[VerificationRequest] = []
        self.records: list[str] = []

    async def verdicts(
        self, questions: Iterable[VerificationRequest | None], records: Iterable[str]
    ) -> Mapping[str, ImageVerdict]:
        self.questions += [question for question in questions if question is not None]
        self.records += records
        return self.answers
