"""What the tests of the table layer share: scans read to the end, and decoded again."""

import numpy as np

from seepage.tables.scan import open_scan
from seepage.tables.table_options import TableOptions


def read(data, **options):
    """Return the scan after its last batch, and the codes of all records by column."""
    scan = open_scan(data, TableOptions(**options))
    batches = scan.read(lambda batches: [_checked(batch) for batch in batches])
    return scan, [np.concatenate(parts) for parts in zip(*batches, strict=True)]


def _checked(batch):
    assert isinstance(batch.codes, tuple)
    assert len({len(codes) for codes in batch.codes}) == 1
    for codes, size in zip(batch.codes, batch.sizes, strict=True):
        assert codes.dtype == (np.uint8 if size < 256 else np.uint16)
        assert codes.max() < size
    return batch.codes


def final_codes(data, **options):
    """Return the domain and, by column, the code in the domain of each record."""
    scan, discovered = read(data, **options)
    domain, order = scan.finish()
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
    return {
        attribute.name: attribute.values
        for attribute in final_codes(data, **options)[0]
    }
