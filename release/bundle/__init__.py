"""The bundle for the Operator Lifecycle Manager (OLM), of the format registry+v1.

Built from the overlay of the default mode, so permissions are not duplicated. Called by
release.main. Source of the format: "Creating operator bundles" of the OLM documentation, and
pkg/lib/bundle of operator-registry v1.65.
"""
