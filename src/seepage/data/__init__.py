"""Data about people: tables, domains, pair counts, distinct records, and the datasets."""
