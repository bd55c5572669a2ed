"""Every table and figure of the paper, beside the paper's own numbers."""

from seepage.study.reproduction.findings import Comparison, Finding
from seepage.study.reproduction.item_files import Kept
from seepage.study.reproduction.items import ITEMS, Item
from seepage.study.reproduction.runner import reproduce

__all__ = ["ITEMS", "Comparison", "Finding", "Item", "Kept", "reproduce"]
