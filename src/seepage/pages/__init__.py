"""Self-contained HTML pages from templates."""
