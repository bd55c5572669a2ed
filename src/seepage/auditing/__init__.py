"""What somebody else's randomiser realises beside what is claimed."""
