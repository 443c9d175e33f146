"""Jobs with every kind of cloud identity: the right one is accepted, and wrong ones are refused.

The cloud checks signatures of tokens and requests, audiences, subjects and bucket permissions.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from contracts.jobs.env import StoreEnv
from tests.integration.account_tokens import Signer
from tests.integration.cloud import server
from tests.integration.cloud.job import CONTENT
from tests.integration.cloud.network import Network, network
from tests.integration.cloud.server import BUCKET, EMAIL, STORES, Cloud

ROLE = "arn:aws:iam::123456789012:role/bao-backup"
SUBJECT = "system:serviceaccount:ns:c-backup-serviceaccount"
USER = {"client_id": "a-client", "client_secret": "hunter2", "refresh_token": "1//refresh"}
TENANT, CLIENT = "tenant-1", "client-1"
# The stores have a CA of the test, which only a Secret can specify.
S3 = StoreEnv("s3", BUCKET, f"https://{STORES}:{server.S3_PORT}", insecure_skip_verify=True)
GCS = replace(S3, provider="gcs", endpoint=f"https://{STORES}:{server.GCS_PORT}")
AZURE = replace(
    S3, provider="azure", endpoint=f"https://{STORES}:{server.AZURE_PORT}", azure_account="bao"
)
REFUSED = "the cloud refuses to issue a token"
METADATA = f"{server.METADATA}:80"


@dataclass(frozen=True)
class Place:
    """The cloud, and the keys that it trusts."""

    cloud: Network
    cluster: Signer
    account: Signer
    folder: Path

    def run(self, env: StoreEnv, **variables: str) -> str:
        """Run a Job; return the content that it read, or its failure."""
        return self.cloud.job({**env.to_environment(), **variables})

    def file(self, name: str, content: str) -> str:
        """Mount a file; return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return str(path)

    def secret(self, env: StoreEnv, **files: str) -> StoreEnv:
        """Mount a Secret with these files and the CA of the stores, and verify certificates."""
        folder = self.folder / "secret"
        for name, content in {"caCert": self.cloud.authority, **files}.items():
            self.file(f"secret/{name.replace('_', '.')}", content)
        return replace(env, credentials_path=str(folder), insecure_skip_verify=False)

    def token(self, signer: Signer, audience: str, subject: str = SUBJECT) -> str:
        """Mount a token of a ServiceAccount; return its path."""
        return self.file("token", signer.token(subject, aud=[audience]))


@pytest.fixture(scope="module")
def keys() -> tuple[Signer, Signer]:
    return Signer(), Signer()


@pytest.fixture(scope="module")
def cloud(
    keys: tuple[Signer, Signer], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Network]:
    cluster, account = keys
    known = Cloud(cluster.public, account.public, ROLE, SUBJECT, USER, TENANT, CLIENT)
    with network(known, tmp_path_factory.mktemp("cloud")) as running:
        yield running


@pytest.fixture
def place(cloud: Network, keys: tuple[Signer, Signer], tmp_path: Path) -> Place:
    return Place(cloud, *keys, tmp_path)


def hosts_since(place: Place, before: list[str]) -> set[str]:
    """Return the hosts of the requests since then."""
    return {line.split()[0] for line in place.cloud.requests()[len(before) :]}


def check_refusal(output: str, *words: str) -> None:
    """Check that the failure is one line with these words and without secrets."""
    assert output.startswith(("Storage: ", "Config: ")), output
    assert "\n" not in output
    for word in words:
        assert word in output
    for secret in (*USER.values(), "eyJ"):
        assert secret not in output


@pytest.mark.parametrize("env", [S3, GCS, AZURE], ids=["aws", "google", "azure"])
class TestIdentityOfTheMachine:
    def test_it_is_requested_and_used(self, place: Place, env: StoreEnv) -> None:
        before = place.cloud.requests()
        assert place.run(env) == CONTENT.decode()
        assert METADATA in hosts_since(place, before)

    def test_one_without_rights_is_refused(self, place: Place, env: StoreEnv) -> None:
        check_refusal(place.run(replace(env, bucket="of-others")), "refuses the credentials")

    def test_a_secret_without_a_login_never_leads_to_it(self, place: Place, env: StoreEnv) -> None:
        before = place.cloud.requests()
        check_refusal(place.run(place.secret(env)), "credentialsSecretRef: the Secret has no")
        assert hosts_since(place, before) == set()


class TestEksPodIdentity:
    def _run(self, place: Place, signer: Signer) -> str:
        return place.run(
            S3,
            AWS_CONTAINER_CREDENTIALS_FULL_URI=f"http://{server.POD_AGENT}/v1/credentials",
            AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=place.token(signer, "pods.eks.amazonaws.com"),
        )

    def test_the_token_of_the_pod_is_taken(self, place: Place) -> None:
        before = place.cloud.requests()
        assert self._run(place, place.cluster) == CONTENT.decode()
        assert METADATA not in hosts_since(place, before)

    def test_one_that_the_cluster_did_not_sign_is_refused(self, place: Place) -> None:
        check_refusal(self._run(place, Signer()), REFUSED, "status 403")

    def test_an_agent_that_is_not_there_is_named(self, place: Place) -> None:
        uri = f"http://{server.TASK_AGENT}/v1/credentials"
        text = place.run(
            S3,
            AWS_CONTAINER_CREDENTIALS_FULL_URI=uri,
            AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=place.token(place.cluster, "x"),
        )
        check_refusal(text, "cannot be reached", server.TASK_AGENT)


class TestRoleOfAws:
    def _run(self, place: Place, path: str, role: str = ROLE) -> str:
        env = replace(place.secret(S3), role_arn=role, web_identity_path=path)
        return place.run(env)

    def test_a_role_is_taken_with_a_token(self, place: Place) -> None:
        before = place.cloud.requests()
        path = place.token(place.cluster, "sts.amazonaws.com")
        assert self._run(place, path) == CONTENT.decode()
        assert METADATA not in hosts_since(place, before)

    def test_a_token_of_another_key_is_refused(self, place: Place) -> None:
        path = place.token(Signer(), "sts.amazonaws.com")
        check_refusal(self._run(place, path), REFUSED, "code InvalidIdentityToken")

    def test_a_token_for_another_audience_is_refused(self, place: Place) -> None:
        path = place.token(place.cluster, "openbao")
        check_refusal(self._run(place, path), REFUSED, "code InvalidIdentityToken")

    def test_a_role_of_others_is_refused(self, place: Place) -> None:
        path = place.token(place.cluster, "sts.amazonaws.com")
        check_refusal(
            self._run(place, path, "arn:aws:iam::1:role/other"), REFUSED, "code AccessDenied"
        )


class TestFilesOfGoogle:
    def _account(self, signer: Signer, email: str = EMAIL) -> str:
        pem = signer.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        return json.dumps({
            "type": "service_account", "client_email": email, "private_key": pem,
            "private_key_id": "1",
        })  # fmt: skip

    def _run(self, place: Place, text: str) -> str:
        before = place.cloud.requests()
        output = place.run(place.secret(GCS, credentials_json=text))
        assert METADATA not in hosts_since(place, before)
        return output

    def test_the_key_of_an_account_is_taken(self, place: Place) -> None:
        assert self._run(place, self._account(place.account)) == CONTENT.decode()

    def test_a_wrong_key_is_refused(self, place: Place) -> None:
        check_refusal(self._run(place, self._account(Signer())), "refuses the credentials")

    def test_another_account_is_refused(self, place: Place) -> None:
        text = self._account(place.account, "other@project.iam.gserviceaccount.com")
        check_refusal(self._run(place, text), "refuses the credentials")

    def test_the_login_of_a_user_is_taken(self, place: Place) -> None:
        text = json.dumps({"type": "authorized_user", **USER})
        assert self._run(place, text) == CONTENT.decode()

    def test_a_login_that_was_withdrawn_is_refused(self, place: Place) -> None:
        text = json.dumps({"type": "authorized_user", **USER, "refresh_token": "1//old"})
        check_refusal(self._run(place, text), REFUSED, "code invalid_grant")


class TestWorkloadIdentityOfAzure:
    def _run(self, place: Place, path: str, client: str = CLIENT) -> str:
        before = place.cloud.requests()
        text = place.run(
            place.secret(AZURE),
            AZURE_CLIENT_ID=client,
            AZURE_TENANT_ID=TENANT,
            AZURE_FEDERATED_TOKEN_FILE=path,
            AZURE_AUTHORITY_HOST=f"https://{server.AZURE_TOKENS}/",
        )
        assert METADATA not in hosts_since(place, before)
        return text

    def test_the_token_of_the_pod_is_taken(self, place: Place) -> None:
        path = place.token(place.cluster, "api://AzureADTokenExchange")
        assert self._run(place, path) == CONTENT.decode()

    def test_a_token_of_another_key_is_refused(self, place: Place) -> None:
        path = place.token(Signer(), "api://AzureADTokenExchange")
        check_refusal(self._run(place, path), REFUSED, "code invalid_client")

    def test_another_client_is_refused(self, place: Place) -> None:
        path = place.token(place.cluster, "api://AzureADTokenExchange")
        check_refusal(self._run(place, path, "other"), REFUSED, "code invalid_client")
