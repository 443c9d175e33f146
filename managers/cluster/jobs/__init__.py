"""The Job template of one cluster: image, account, login and trust.

`template` builds it, `template_source` reads its inputs. Called by the controllers of backups,
restores and upgrades.
"""
