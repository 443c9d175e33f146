"""The mount paths of a server pod; the rendered configuration and the mounts must agree."""

CONFIG = "/etc/bao/config"
INIT = "/etc/bao/init"
ROOT_TOKEN = "/etc/bao/root-token"  # noqa: S105  a folder, not a token
TLS = "/etc/bao/tls"
ACME_CA = "/etc/bao/acme-ca"
ACME_CACHE = "/bao/acme-cache"
UNSEAL = "/etc/bao/unseal"
SEAL_CREDENTIALS = "/etc/bao/seal-creds"
DATA = "/bao/data"
PLUGINS = "/openbao/plugins"
AUDIT = "/openbao/audit"
LOGS = "/openbao/logs"
# Second mount of the same volume: the log folder in manifests for the public Go operator.
SYSTEM_LOGS = "/var/log/openbao"
TMP = "/tmp"  # noqa: S108  an emptyDir of the pod
API_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  a folder
