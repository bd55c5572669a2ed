"""Audits of randomisers that somebody else wrote: realised epsilon, verdict and witness."""
