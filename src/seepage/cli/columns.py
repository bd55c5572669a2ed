"""Text in columns."""

from collections.abc import Sequence

__all__ = ["columns"]


def columns(rows: Sequence[Sequence[str]], indent: str = "  ", left: bool = False) -> str:
    """Return rows of text in columns: the first to the left, the others right unless `left`."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [
            cell.ljust(width) if left else cell.rjust(width)
            for cell, width in zip(others, widths[1:], strict=True)
        ]
        lines.append(indent + "  ".join([first.ljust(widths[0]), *cells]).rstrip())
    return "\n".join(lines)
