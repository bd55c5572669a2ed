"""The content of a plan: attributes, forms, guarantees, files and the wire."""
