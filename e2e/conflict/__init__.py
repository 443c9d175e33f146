"""Names that are taken by somebody else, and specs that no API server should accept."""
