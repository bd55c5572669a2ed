"""One pass over the records: pair counts and distinct records."""
