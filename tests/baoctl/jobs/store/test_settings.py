"""Each kind of store and credentials, and the endpoints that the Job may reach with them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from baoctl.jobs.failures import JobFailure
from baoctl.jobs.store.egress_proxy import EgressEndpoint
from baoctl.jobs.store.settings import StoreSettings, settings
from contracts.jobs.cloud_identity import ADDRESSES
from contracts.jobs.env import StoreEnv

S3 = StoreEnv("s3", "snapshots", "https://s3.example.com:9000", use_path_style=True)
GCS = StoreEnv("gcs", "snapshots")
AZURE = StoreEnv("azure", "snapshots", azure_account="bao")
KEYS = {"accessKeyId": "AK", "secretAccessKey": "SK"}
GOOGLE_KEY = json.dumps({"private_key": "k", "private_key_id": "i", "client_email": "e"})
GOOGLE_USER = {"client_id": "c", "client_secret": "s", "refresh_token": "r"}
BUNDLE = {"caCert": "pem"}


def at(host: str, scheme: str = "https") -> str:
    """A URL of a cloud."""
    return f"{scheme}://{host}"


def settings_from(
    env: StoreEnv, secret: dict[str, str] | None = None, environ: dict[str, str] | None = None
) -> StoreSettings:
    return settings(env, secret or {}, environ or {})


def test_s3_with_keys_connects_only_to_its_endpoint() -> None:
    store_settings = settings_from(S3, KEYS | {"sessionToken": "ST", "region": "eu-west-1"})
    assert store_settings.endpoints == (EgressEndpoint("s3.example.com", 9000),)
    assert store_settings.identity == ()
    assert store_settings.options["endpoint"] == "https://s3.example.com:9000"
    assert store_settings.options["session_token"] == "ST"
    assert store_settings.options["region"] == "eu-west-1"
    assert store_settings.options["unsigned_payload"]
    assert "SK" not in repr(store_settings)


def test_the_region_of_the_spec_takes_precedence() -> None:
    store_settings = settings_from(
        replace(S3, region="eu-central-1"), KEYS | {"region": "eu-west-1"}
    )
    assert store_settings.options["region"] == "eu-central-1"
    assert settings_from(S3, KEYS).options["region"] == "us-east-1"


def test_parts_are_signed_without_verified_tls() -> None:
    assert not settings_from(replace(S3, endpoint="http://minio:9000"), KEYS).options[
        "unsigned_payload"
    ]
    assert not settings_from(replace(S3, insecure_skip_verify=True), KEYS).options[
        "unsigned_payload"
    ]


@pytest.mark.parametrize(
    ("endpoint", "path_style", "bucket", "address", "expected"),
    [
        (at("s3.amazonaws.com"), False, "bkt", at("bkt.s3.amazonaws.com"),
         EgressEndpoint("bkt.s3.amazonaws.com", 443)),
        (at("s3.amazonaws.com", "s3"), False, "bkt", at("bkt.s3.amazonaws.com"),
         EgressEndpoint("bkt.s3.amazonaws.com", 443)),
        (at("s3.amazonaws.com"), True, "bkt", at("s3.amazonaws.com"),
         EgressEndpoint("s3.amazonaws.com", 443)),
        (at("s3.amazonaws.com"), False, "a.b", at("s3.amazonaws.com"),
         EgressEndpoint("s3.amazonaws.com", 443)),
        ("http://10.0.0.8:9000", False, "bkt", "http://10.0.0.8:9000",
         EgressEndpoint("10.0.0.8", 9000)),
        ("http://[fd00::8]:9000/", False, "bkt", "http://[fd00::8]:9000",
         EgressEndpoint("fd00::8", 9000)),
        (at("S3.Example.COM./x/", "HTTPS"), False, "bkt", at("bkt.S3.Example.COM./x"),
         EgressEndpoint("bkt.s3.example.com", 443)),
    ],
)  # fmt: skip
def test_the_style_of_the_bucket_url(
    endpoint: str, path_style: bool, bucket: str, address: str, expected: EgressEndpoint
) -> None:
    env = StoreEnv("s3", bucket, endpoint, use_path_style=path_style)
    store_settings = settings_from(env, KEYS)
    assert (store_settings.options["endpoint"], store_settings.endpoints) == (address, (expected,))
    assert store_settings.options["virtual_hosted_style_request"] == (f"{bucket}." in address)


def test_a_role_is_assumed_at_the_regional_token_service() -> None:
    env = StoreEnv(
        "s3", "bkt", at("s3.eu-central-1.amazonaws.com"), region="eu-central-1",
        role_arn="arn:aws:iam::1:role/x", web_identity_path="/token",
    )  # fmt: skip
    store_settings = settings_from(env)
    assert store_settings.options["endpoint_url_sts"] == at("sts.eu-central-1.amazonaws.com")
    assert EgressEndpoint("sts.eu-central-1.amazonaws.com", 443) in store_settings.endpoints
    assert store_settings.options["web_identity_token_file"] == "/token"
    assert store_settings.identity == ()


def test_a_custom_endpoint_is_also_the_token_service() -> None:
    store_settings = settings_from(
        replace(S3, role_arn="arn:x", web_identity_path="/token"), {"caCert": "pem"}
    )
    assert store_settings.options["endpoint_url_sts"] == "https://s3.example.com:9000"
    assert set(store_settings.endpoints) == {EgressEndpoint("s3.example.com", 9000)}
    assert not store_settings.http


def test_the_identity_of_the_pod_is_used_only_without_credentials() -> None:
    uri = "http://169.254.170.23/v1/credentials"
    store_settings = settings_from(S3, environ={"AWS_CONTAINER_CREDENTIALS_FULL_URI": uri})
    assert EgressEndpoint("169.254.169.254", 80) in store_settings.identity
    assert store_settings.options["container_credentials_full_uri"] == uri
    assert settings_from(GCS).identity
    assert settings_from(AZURE).identity
    for env, secret in ((S3, KEYS), (GCS, {"credentials.json": GOOGLE_KEY})):
        assert settings_from(env, secret).identity == ()
    assert settings_from(AZURE, {"accountKey": "k"}).identity == ()


def test_the_network_policy_allows_every_identity_endpoint() -> None:
    for env in (S3, GCS, AZURE):
        opened = {(item.address, port) for item in ADDRESSES[env.provider] for port in item.ports}
        hosts = {(item.host, item.port) for item in settings_from(env).identity}
        assert hosts - {("metadata.google.internal", 80)} <= opened


def test_gcs_with_user_credentials() -> None:
    text = json.dumps({"type": "authorized_user", **GOOGLE_USER})
    store_settings = settings_from(
        replace(GCS, credentials_path="/credentials"), {"credentials.json": text}
    )
    # The library does not accept this type as a string.
    assert store_settings.options["application_credentials"] == "/credentials/credentials.json"
    assert EgressEndpoint("accounts.google.com", 443) in store_settings.endpoints
    assert store_settings.identity == ()


def test_an_azure_token_needs_no_metadata_server() -> None:
    environ = {"AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_FEDERATED_TOKEN_FILE": "/f"}
    assert settings_from(AZURE, BUNDLE, environ).identity == ()
    # A managed identity other than that of the machine is requested by its id.
    assert settings_from(AZURE, environ={"AZURE_CLIENT_ID": "c"}).identity


def test_gcs_with_a_key_file() -> None:
    store_settings = settings_from(GCS, {"credentials.json": GOOGLE_KEY})
    assert store_settings.options["service_account_key"] == GOOGLE_KEY
    assert EgressEndpoint("storage.googleapis.com", 443) in store_settings.endpoints


def test_a_gcs_emulator_needs_no_credentials() -> None:
    store_settings = settings_from(replace(GCS, endpoint="http://gcs:4443"))
    assert store_settings.options["skip_signature"]
    assert store_settings.identity == ()
    assert store_settings.http


def test_gcs_at_another_endpoint_uses_the_credentials() -> None:
    store_settings = settings_from(
        replace(GCS, endpoint="http://gcs:4443"), {"credentials.json": GOOGLE_KEY}
    )
    assert store_settings.options["base_url"] == "http://gcs:4443"
    assert store_settings.endpoints[0] == EgressEndpoint("gcs", 4443)


@pytest.mark.parametrize(
    ("env", "endpoint"),
    [
        (AZURE, at("bao.blob.core.windows.net")),
        (replace(AZURE, endpoint=at("bao.blob.core.usgovcloudapi.net/")),
         at("bao.blob.core.usgovcloudapi.net")),
        (replace(AZURE, endpoint="http://10.0.0.8:10000"), "http://10.0.0.8:10000/bao"),
        (replace(AZURE, endpoint="http://10.0.0.8:10000/bao"), "http://10.0.0.8:10000/bao"),
    ],
)  # fmt: skip
def test_the_style_of_the_account_url(env: StoreEnv, endpoint: str) -> None:
    assert settings_from(env, {"accountKey": "k"}).options["endpoint"] == endpoint


def test_a_connection_string_takes_precedence() -> None:
    text = (
        "DefaultEndpointsProtocol=http;AccountName=dev;AccountKey=a2V5==;"
        "BlobEndpoint=http://10.0.0.8:10000/dev;"
    )
    store_settings = settings_from(
        StoreEnv("azure", "c"), {"connectionString": text, "accountKey": "other"}
    )
    assert (store_settings.options["account_name"], store_settings.options["account_key"]) == (
        "dev",
        "a2V5==",
    )
    assert store_settings.options["endpoint"] == "http://10.0.0.8:10000/dev"
    assert store_settings.endpoints[0] == EgressEndpoint("10.0.0.8", 10000)


def test_a_connection_string_with_a_shared_access_signature() -> None:
    text = "AccountName=dev;EndpointSuffix=core.chinacloudapi.cn;SharedAccessSignature=?sv=1&sig=x"
    store_settings = settings_from(StoreEnv("azure", "c"), {"connectionString": text})
    assert store_settings.options["sas_key"] == "sv=1&sig=x"
    assert store_settings.options["endpoint"] == at("dev.blob.core.chinacloudapi.cn")


def test_azure_container_takes_precedence_over_the_bucket() -> None:
    store_settings = settings_from(replace(AZURE, azure_container="box"), {"accountKey": "k"})
    assert store_settings.options["container_name"] == "box"


def test_azure_workload_identity_uses_the_variables_of_the_webhook() -> None:
    environ = {
        "AZURE_CLIENT_ID": "c", "AZURE_TENANT_ID": "t", "AZURE_FEDERATED_TOKEN_FILE": "/f",
        "AZURE_AUTHORITY_HOST": at("login.microsoftonline.com/"),
    }  # fmt: skip
    store_settings = settings_from(AZURE, environ=environ)
    assert store_settings.options["federated_token_file"] == "/f"
    assert EgressEndpoint("login.microsoftonline.com", 443) in store_settings.endpoints


def test_a_volume_is_a_folder_below_its_mount() -> None:
    env = StoreEnv("pvc", "nightly", volume_path="/var/lib/snapshots/")
    assert settings_from(env).options["prefix"] == "/var/lib/snapshots/nightly"
    assert settings_from(env).endpoints == ()


@pytest.mark.parametrize(
    ("env", "secret", "words"),
    [
        (replace(S3, endpoint=""), KEYS, "spec.backup.target.endpoint"),
        (replace(S3, endpoint="ftp://x"), KEYS, "spec.backup.target.endpoint"),
        (replace(S3, endpoint="https://u:p@x"), KEYS, "spec.backup.target.endpoint"),
        (replace(S3, endpoint="https://x?y"), KEYS, "spec.backup.target.endpoint"),
        (replace(S3, endpoint="https://x:99999"), KEYS, "spec.backup.target.endpoint"),
        (S3, {"accessKeyId": "AK"}, "no secretAccessKey"),
        (S3, {"secretAccessKey": "SK"}, "no accessKeyId"),
        (GCS, {"credentials.json": "{"}, "is not JSON"),
        (GCS, {"credentials.json": "[]"}, "is not a JSON object"),
        (GCS, {"credentials.json": "{}"}, "no private_key and no private_key_id and no"),
        (GCS, {"credentials.json": '{"type": "service_account"}'}, "key file of a service account"),
        (GCS, {"credentials.json": '{"type": "authorized_user"}'}, "no client_id and no"),
        (GCS, {"credentials.json": '{"type": "external_account"}'}, "identity of the pod"),
        (
            GCS,
            {"credentials.json": '{"type": "impersonated_service_account"}'},
            "type impersonated_service_account: it impersonates another account",
        ),
        (GCS, {"credentials.json": '{"type": "hunter2-hunter2"}'}, "an unknown type"),
        (GCS, {"credentials.json": '{"type": ["hunter2"]}'}, "an unknown type"),
        (S3, BUNDLE, "has no accessKeyId and secretAccessKey; add"),
        (replace(S3, credentials_path="/credentials"), {}, "to use the identity of the pod"),
        (GCS, BUNDLE, "has no credentials.json; add"),
        (AZURE, BUNDLE, "has no accountKey or connectionString; add"),
        (StoreEnv("azure", "c"), {"accountKey": "k"}, "azure.storageAccount"),
        (AZURE, {"connectionString": "AccountName=dev"}, "neither AccountKey nor"),
        (StoreEnv("pvc", "..", volume_path="/v"), {}, "not a folder name"),
        (StoreEnv("pvc", "b"), {}, "no volume is mounted"),
    ],
)
def test_invalid_settings_are_reported_without_secrets(
    env: StoreEnv, secret: dict[str, str], words: str
) -> None:
    with pytest.raises(JobFailure) as caught:
        settings_from(env, secret)
    assert caught.value.failure == "Config"
    assert words in str(caught.value)
    _no_secret(str(caught.value), secret)


def _no_secret(text: str, secret: dict[str, Any]) -> None:
    for name, value in secret.items():
        assert len(value) < 3 or value not in text, name
