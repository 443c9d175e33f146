"""The Helm chart: equal to the overlays; installed, upgraded and uninstalled by the real helm."""
