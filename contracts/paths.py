"""Where things lie inside a server pod; the rendered configuration and the mounts must agree."""

CONFIG = "/etc/bao/config"
INIT = "/etc/bao/init"
ROOT_TOKEN = "/etc/bao/root-token"  # noqa: S105  a folder, not a token
TLS = "/etc/bao/tls"
UNSEAL = "/etc/bao/unseal"
DATA = "/bao/data"
TMP = "/tmp"  # noqa: S108  an emptyDir of the pod
API_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105  a folder
