"""The receiver of reports."""
