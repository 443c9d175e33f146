"""An idle cluster causes no writes, and changes are reported immediately."""
