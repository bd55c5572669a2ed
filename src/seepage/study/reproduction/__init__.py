"""Every table and figure of the paper, beside the paper's own numbers."""

from seepage.study.reproduction.findings import Comparison, Finding
from seepage.study.reproduction.item_files import FinishedItem
from seepage.study.reproduction.runner import ITEMS, Item, reproduce

__all__ = ["ITEMS", "Comparison", "Finding", "FinishedItem", "Item", "reproduce"]
