"""What each seal of OpenBao 2.4.0 reads of its stanza, as its source says.

Pinned here for the unit tests; tests/integration/test_seal_server.py takes it out of the source of
the very modules that the server is built from and compares.
"""

GENERAL = frozenset({"disabled", "purpose"})
"""Read by the server itself, for every seal (internalshared/configutil/kms.go)."""

_ENVIRONMENT = {"disallow_env_vars", "key_not_required"}
ACCEPTED: dict[str, frozenset[str]] = {
    "static": frozenset({"current_key", "current_key_id", "previous_key", "previous_key_id"}),
    "transit": frozenset(
        {
            "address", "disable_renewal", "key_id_prefix", "key_name", "mount_path", "namespace",
            "tls_ca_cert", "tls_ca_path", "tls_client_cert", "tls_client_key", "tls_server_name",
            "tls_skip_verify", "token",
        }
    ),
    "awskms": frozenset(
        {
            *_ENVIRONMENT,
            "access_key",
            "endpoint",
            "kms_key_id",
            "region",
            "role_arn",
            "role_session_name",
            "secret_key",
            "session_token",
            "shared_creds_filename",
            "shared_creds_profile",
            "web_identity_token_file",
        }
    ),
    "azurekeyvault": frozenset(
        {
            *_ENVIRONMENT,
            "client_id",
            "client_secret",
            "environment",
            "key_name",
            "resource",
            "tenant_id",
            "vault_name",
        }
    ),
    "gcpckms": frozenset(
        {
            "credentials", "crypto_key", "key_not_required", "key_ring", "project", "region",
            "user_agent",
        }
    ),
    "kmip": frozenset(
        {
            "ca_cert", "client_cert", "client_key", "encrypt_alg", "endpoint", "kms_key_id",
            "server_name", "timeout", "tls12_ciphers",
        }
    ),
    "ocikms": frozenset({"auth_type_api_key", "crypto_endpoint", "key_id", "management_endpoint"}),
    "pkcs11": frozenset(
        {
            "disable_software_encryption", "key_id", "key_label", "label", "lib", "mechanism",
            "module", "pin", "rsa_oaep_hash", "slot", "token", "token_label",
        }
    ),
}  # fmt: skip
