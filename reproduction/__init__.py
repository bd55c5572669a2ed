"""Every table and figure of the paper, computed from the real data.

`python -m reproduction fig4` computes one of them, `make reproduce` all.
"""
