"""The API group and its resources.

Uses runtime.types. Called by everything that reads or writes one of them.
"""

from typing import Final

from runtime.types import Resource

GROUP: Final = "openbao.org"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

CLUSTER_KIND: Final = "OpenBaoCluster"
CLUSTERS: Final = Resource(GROUP, VERSION, CLUSTER_KIND, "openbaoclusters")

TENANT_KIND: Final = "OpenBaoTenant"
TENANTS: Final = Resource(GROUP, VERSION, TENANT_KIND, "openbaotenants")

BACKUP_KIND: Final = "OpenBaoBackup"
BACKUPS: Final = Resource(GROUP, VERSION, BACKUP_KIND, "openbaobackups")

RESTORE_KIND: Final = "OpenBaoRestore"
RESTORES: Final = Resource(GROUP, VERSION, RESTORE_KIND, "openbaorestores")
