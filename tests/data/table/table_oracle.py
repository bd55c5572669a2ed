"""What the tests of the table layer share: streams read to the end, and decoded again."""

import numpy as np

from seepage.data.table import Restart, TableOptions, open_stream


def read(data, **options):
    """Return the stream after its last batch, and the codes of all records by column."""
    stream = open_stream(data, TableOptions(**options))
    try:
        batches = list(_checked(stream))
    except Restart:
        batches = list(_checked(stream))
    return stream, [np.concatenate(parts) for parts in zip(*batches, strict=True)]


def _checked(stream):
    for batch in stream:
        assert isinstance(batch, tuple)
        assert len({len(codes) for codes in batch}) == 1
        for codes, size in zip(batch, stream.sizes, strict=True):
            assert codes.dtype == (np.uint8 if size < 256 else np.uint16)
            assert codes.max() < size
        yield batch


def final_codes(data, **options):
    """Return the domain and, by column, the code in the domain of each record."""
    stream, discovered = read(data, **options)
    domain, order = stream.finish()
    result = []
    for codes, places in zip(discovered, order, strict=True):
        lookup = np.full(max(places.max(), codes.max()) + 1, -1)
        lookup[places] = np.arange(len(places))
        result.append(lookup[codes])
        assert (result[-1] >= 0).all()
    return domain, result


def labels(data, **options):
    """Return the names of the values of each record, by column."""
    domain, codes = final_codes(data, **options)
    return {
        attribute.name: [attribute.values[code] for code in column]
        for attribute, column in zip(domain, codes, strict=True)
    }


def values(data, **options):
    """Return the values of each attribute of the domain."""
    return {attribute.name: attribute.values for attribute in final_codes(data, **options)[0]}
