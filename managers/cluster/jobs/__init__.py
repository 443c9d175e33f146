"""What the Jobs of one cluster have in common: image, account, login and trust.

`template` decides it, `template_source` looks it up. Called by the controllers of backups, restores
and upgrades.
"""
