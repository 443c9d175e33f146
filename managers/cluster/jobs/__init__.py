"""The Job template of one cluster: image, account, login and trust.

`template` builds it, `template_source` reads its inputs. Used for the Jobs of backups, restores,
restore tests and upgrades.
"""
