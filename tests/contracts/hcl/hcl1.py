"""How the server reads a string literal: hashicorp/hcl v1, hcl/scanner and hcl/strconv.

A second opinion beside python-hcl2, which reads HCL 2: the two differ in what `${` does.
"""

SHORT = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "\\": "\\",
    '"': '"',
}  # fmt: skip
WIDTH = {"x": 2, "u": 4, "U": 8}


def scan(text: str) -> tuple[str, str]:
    """Split text that starts with a string literal after that literal; raises ValueError."""
    braces, position = 0, 1
    while position < len(text):
        char = text[position]
        if char in "\x00\ue123" or (char == "\n" and braces == 0):
            break
        if char == '"' and braces == 0:
            return text[: position + 1], text[position + 1 :]
        if braces == 0 and text[position : position + 2] == "${":
            braces, position = 1, position + 1
        elif braces:
            braces += {"{": 1, "}": -1}.get(char, 0)
        position += 2 if char == "\\" else 1
    raise ValueError("literal not terminated")


def unquote(token: str) -> str:
    """The value of a literal that holds no interpolation; raises ValueError."""
    out, body, position = [], token[1:-1], 0
    while position < len(body):
        char = body[position]
        if body[position : position + 2] == "${":
            raise ValueError("an interpolation")
        if char != "\\":
            out.append(char)
            position += 1
            continue
        kind = body[position + 1]
        width = WIDTH.get(kind, 0)
        digits = body[position + 2 : position + 2 + width]
        out.append(chr(int(digits, 16)) if width else SHORT[kind])
        position += 2 + width
    return "".join(out)
