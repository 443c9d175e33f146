"""baoctl.jobs.store.errors: the message for an identity that a cloud rejects, in one line."""

import pytest
from obstore.exceptions import GenericError, PermissionDeniedError

from baoctl.jobs.store.errors import store_failure

IDENTITY = "the cloud refuses to issue a token for the identity or login of the job"
ANSWER = "Server returned non-2xx status code:"
# text of the library: the part that the message contains
REFUSED = {
    f"Generic GCS error: Error performing token request: Error performing POST x in 1ms - {ANSWER} "
    '400 Bad Request: {"error": "invalid_grant"}': "code invalid_grant, status 400",
    f"Generic S3 error: Error performing POST REDACTED in 1ms - {ANSWER} 403 Forbidden: "
    "<Error><Code>AccessDenied</Code></Error>": "code AccessDenied, status 403",
    "Generic S3 error: Error performing GET http://169.254.170.23/v1/credentials in 1ms - "
    f"{ANSWER} 401 Unauthorized: eyJhbGciOi": "status 401",
    "Generic S3 error: Error performing GET http://169.254.169.254/latest/meta-data/iam/"
    f"security-credentials/ in 1ms - {ANSWER} 404 Not Found: none": "status 404",
}


@pytest.mark.parametrize(("text", "detail"), REFUSED.items(), ids=REFUSED.values())
def test_a_rejected_identity_is_reported(text: str, detail: str) -> None:
    assert str(store_failure("key in bucket b", GenericError(text))) == (
        f"key in bucket b: {IDENTITY} ({detail})"
    )


def test_a_rejection_by_the_store_is_not_a_rejected_identity() -> None:
    text = f"Error performing PUT https://s3.example.com/b/key in 1ms - {ANSWER} 403 Forbidden: x"
    failure = str(store_failure("key", PermissionDeniedError(text)))
    assert failure == "key: the store refuses the credentials (status 403)"


@pytest.mark.parametrize("code", ["InvalidObjectState", "BlobArchived", "BlobBeingRehydrated"])
def test_an_archived_object_is_not_reported_as_rejected_credentials(code: str) -> None:
    text = f"{ANSWER} 403 Forbidden: <Error><Code>{code}</Code></Error>"
    failure = str(store_failure("key", PermissionDeniedError(text)))
    assert failure.startswith("key: the object is archived; ")
    assert failure.endswith(f" (code {code}, status 403)")


def test_a_timeout_of_the_metadata_server_is_not_a_rejected_identity() -> None:
    text = "Error performing GET http://169.254.169.254/latest/api/token: operation timed out"
    assert IDENTITY not in str(store_failure("key", GenericError(text)))
