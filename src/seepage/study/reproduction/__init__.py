"""The tables and figures of the paper, compared with the printed numbers."""
