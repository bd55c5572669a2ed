"""What is known about people: tables, domains, pair counts, records, and the datasets."""
