"""Every table and figure of the paper, beside the paper's own numbers."""

from seepage.reproduce.findings import Comparison, Finding
from seepage.reproduce.items import ITEMS, Item
from seepage.reproduce.kept import Kept
from seepage.reproduce.running import reproduce

__all__ = ["ITEMS", "Comparison", "Finding", "Item", "Kept", "reproduce"]
