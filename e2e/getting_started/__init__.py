"""The commands of docs/getting-started.md, as they stand on the page."""
