"""The commands of docs/getting-started.md, exactly as on the page."""
