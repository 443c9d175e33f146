"""A YAML document that expands exponentially when its aliases are resolved: billion laughs."""


def billion_laughs(levels: int, merged: str = "") -> str:
    """A text of that many lines, which expands to nine to the power of that number of values."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels + 1):
        aliases = ",".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + (merged or "[%s]") % aliases)
    return "\n".join(lines)
