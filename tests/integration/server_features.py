"""The golden cases that need a newer server."""

import semver
import yaml

from e2e.rig.versions import OPENBAO
from tests.contracts.hcl.golden_cases import GOLDEN

# Settings of newer servers: the only ones that an older server may report as unknown.
UNKNOWN_TO_THIS_SERVER = {
    "disable_standby_reads",
    "disable_unauthed_generate_root_endpoints",
    "plugin_auto_download",
    "plugin_auto_register",
    "plugin_download_behavior",
    "tls_key_exchange_preferences",
}


def is_newer(case: str, server: str = OPENBAO) -> bool:
    """Whether a case is for a newer minor release than this server."""
    cluster = yaml.safe_load((GOLDEN / case / "cluster.yaml").read_text(encoding="utf-8"))
    version = semver.Version.parse(cluster["spec"]["version"].removeprefix("v"))
    here = semver.Version.parse(server)
    return (version.major, version.minor) > (here.major, here.minor)
