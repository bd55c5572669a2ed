"""What is to be estimated: which targets and sources, from which data, released how."""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, cast

from seepage.domain import Domain
from seepage.errors import DomainError, InputError
from seepage.leakage.release import View, releases
from seepage.leakage.statistics.reading import distinct_records
from seepage.leakage.statistics.running import Make
from seepage.leakage.statistics.task import Key, Task, joint_task, pair_task
from seepage.mechanisms import Mechanism, registered
from seepage.pairs import PairCounts

__all__ = ["Released", "Work", "joint_work", "pair_work"]


class Released(NamedTuple):
    """How attributes are released, as the caller said it, and what the adversary keeps."""

    epsilon: Any
    mechanism: Any
    delta: Any
    view: View

    def mechanisms(self, domain: Domain) -> list[Mechanism]:
        """Return the mechanism of each attribute."""
        if self.mechanism is None:
            raise InputError(f"mechanism must be one of {', '.join(registered())}, got None")
        how = [r.mechanism for r in releases(domain, self.epsilon, self.mechanism, self.delta)]
        missing = [name for name, made in zip(domain.names, how, strict=True) if made is None]
        if missing:
            raise InputError(
                f"mechanism must be given for every attribute, {missing[0]!r} has none"
            )
        return cast("list[Mechanism]", how)


class Work(NamedTuple):
    """What is to be estimated, and all that its numbers depend on."""

    domain: Domain
    keys: list[Key]
    make: Make
    records: int
    description: dict[str, Any]


def pair_work(
    data: Any, target: str | None, pairs: Iterable[tuple[str, str]] | None, released: Released
) -> Work:
    """Return the work of single sources about single targets."""
    counts = _counted(data)
    if not counts.records:
        raise DomainError("there is no leakage without records, and these counts have none")
    keys = _ordered_pairs(counts.domain, target, pairs)
    mechanisms = released.mechanisms(counts.domain)

    def make(key: Key) -> Task:
        return pair_task(counts, mechanisms, key[0], key[1], released.view)

    described = {
        "data": counts.digest,
        "keys": keys,
        "mechanisms": [how.describe() for how in mechanisms],
    }
    return Work(counts.domain, keys, make, counts.records, described)


def _counted(data: Any) -> PairCounts:
    """Return the pair counts of a table, of distinct records, or as they are."""
    if isinstance(data, PairCounts):
        return data
    if all(hasattr(data, part) for part in ("codes", "weights", "pairs")):
        return cast("PairCounts", data.pairs())
    from seepage.counting import count_pairs

    return count_pairs(data)


def _ordered_pairs(
    domain: Domain, target: str | None, pairs: Iterable[tuple[str, str]] | None
) -> list[Key]:
    """Return the numbers of the pairs to estimate, each once."""
    if pairs is None:
        targets = range(len(domain)) if target is None else [domain.index(target)]
        return [(x, u) for x in targets for u in range(len(domain)) if u != x]
    if target is not None:
        raise InputError("give either a target or pairs, not both")
    named = list(pairs)
    if any(isinstance(pair, str) or len(pair) != 2 for pair in named):
        raise InputError("pairs must be a list of two names each, (target, source)")
    chosen = dict.fromkeys((domain.index(x), domain.index(u)) for x, u in named)
    for x, u in chosen:
        if x == u:
            raise DomainError(f"{domain.names[x]!r} is no source about itself")
    return list(chosen)


def joint_work(data: Any, names: Sequence[str], released: Released) -> Work:
    """Return the work of several sources together about one target."""
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError("sources must be one or more names, none twice, and not the target")
    domain, codes, weights = distinct_records(data, names)
    mechanisms = released.mechanisms(domain)
    task = joint_task(domain, codes, weights, mechanisms, 0, range(1, len(names)), released.view)
    content = sha256(repr([(a.name, a.values) for a in domain]).encode())
    content.update(codes.tobytes() + weights.tobytes())
    described = {
        "data": content.hexdigest(),
        "mechanisms": [how.describe() for how in mechanisms],
    }
    return Work(domain, [task.key], lambda key: task, int(weights.sum()), described)
