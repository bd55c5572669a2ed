"""The tables and figures of the paper, compared with the printed numbers."""

from seepage.study.reproduction.findings import Comparison, Finding, FinishedItem
from seepage.study.reproduction.runner import ITEMS, Item, reproduce

__all__ = ["ITEMS", "Comparison", "Finding", "FinishedItem", "Item", "reproduce"]
