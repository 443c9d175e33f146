"""A YAML document that grows without end when its aliases are followed."""


def laughs(levels: int, merged: str = "") -> str:
    """A text of so many lines that stands for nine to the power of that."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels + 1):
        aliases = ",".join([f"*a{level - 1}"] * 9)
        lines.append(f"a{level}: &a{level} " + (merged or "[%s]") % aliases)
    return "\n".join(lines)
