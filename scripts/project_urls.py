"""Hatchling's hook: the addresses of the project in the metadata of the package.

The repository states no address of its own.  GitHub states it to the workflow that
releases, so what is published names where it comes from, and a fork names itself; a
build elsewhere has no addresses rather than wrong ones.
"""

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ProjectUrls(MetadataHookInterface):  # type: ignore[misc]
    """Add `urls` where GitHub states which repository is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Change the metadata of the project in place."""
        repository = os.environ.get("GITHUB_REPOSITORY")
        if repository is not None:
            address = f"https://github.com/{repository}"
            metadata["urls"] = {
                "Source": address,
                "Issues": f"{address}/issues",
                "Changelog": f"{address}/blob/main/CHANGELOG.md",
                "Security": f"{address}/blob/main/SECURITY.md",
            }
