"""Reports derived from identifiers, so that a person who is asked again sends the same report.

A form is drawn by one uniform 64-bit word w: the first form whose cumulative share is above w.  If
people may be asked again, w is derived from a stable identifier instead, so that nobody answers
two forms:

    w = the first 8 bytes, big-endian, of HMAC-SHA-256(key, "seepage form" 0x00 identifier)

with the identifier as UTF-8 text without surrounding blanks; an integer is its decimal digits.

The noise of reports that are drawn independently averages out if a person reports often.  So the
bytes that draw the report number r of form f for the answer with code u are derived, too: block j
of them, 32 bytes, is

    HMAC-SHA-256(key, "seepage noise" 0x00 collection " " f " " r " " u " " identifier 0x00 j)

with the digest of the collection in hexadecimal, f, r and u in decimal digits, all from 0, and j
as 8 bytes, big-endian.  The same answer gives the same report again; another answer gives a report
with noise of its own, which costs its budget again [the memoised response of RAPPOR, Erlingsson et
al. 2014].  Each report is drawn singly, in about 50 us.

The key is secret: whoever knows it and a person's report can find the answer.
"""

import hmac
import math
import os
import secrets
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seepage import _checks
from seepage._files import read_small
from seepage._numerics import Integers
from seepage.data.table.scan import CodedBatch
from seepage.designs.form import form_of_words
from seepage.errors import InputError, Setting
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.exact_draws import Randomness
from seepage.plan.plan import Plan

PURPOSE = b"seepage form\0"
"""Domain separation prefix of the HMAC message: other uses of the key give other bytes."""

MIN_KEY_BYTES = 16
NEW_KEY_BYTES = 32


def new_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key to a new file with mode 0600, in hexadecimal; return the key."""
    key = secrets.token_bytes(NEW_KEY_BYTES)
    file = _checks.path(path, "key file")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as stream:
        stream.write(f"{key.hex()}\n")
    return key


def checked_key(key: Any) -> bytes:
    """Return a key of at least 16 bytes, given as bytes or as the path of a hexadecimal file."""
    secret: bytes
    if isinstance(key, bytes):
        secret = key
    else:
        file = _checks.path(key, "key")
        try:
            secret = bytes.fromhex(read_small(file).decode())
        except (OSError, ValueError):
            raise InputError(
                f"key must be a file of hexadecimal digits, got {str(file)!r}", parameter="key"
            ) from None
    if len(secret) < MIN_KEY_BYTES:
        raise InputError(
            f"key must have at least {MIN_KEY_BYTES} bytes, got {len(secret)}", parameter="key"
        )
    return secret


def derived_forms(plan: Plan, identifiers: Iterable[str], key: bytes) -> Integers:
    """Return the form index of each identifier, derived from its HMAC.

    Examples
    --------
    >>> import seepage as sp
    >>> from seepage.plan import Form, ProductChannel, plan_of_forms
    >>> adult = sp.load_pairs("adult").select(["sex", "race"])
    >>> asked = [ProductChannel.of([name], ["grr"], [1.0]) for name in ("sex", "race")]
    >>> forms = [Form.of(channel, "worst", [1.0, 1.0]) for channel in asked]
    >>> plan = plan_of_forms(adult, forms, limit=1.0)
    >>> derived_forms(plan, ["ann", "bob", "cat", "dan", "ann"], bytes(32)).tolist()
    [1, 0, 1, 1, 1]
    """
    words = b"".join(
        hmac.digest(key, PURPOSE + identifier.strip().encode(), "sha256")[:8]
        for identifier in identifiers
    )
    return form_of_words(plan.forms, np.frombuffer(words, dtype=">u8").astype(np.uint64))


# Noise -------------------------------------------------------------------------------------------

NOISE = b"seepage noise\0"
"""Domain separation prefix of the HMAC messages of noise."""


class KeyedRandomness(Randomness):
    """The bytes that are derived from a key and a message, in blocks of 32.

    Parameters
    ----------
    key, message
        The secret key, and what the bytes are for.

    Examples
    --------
    >>> one, same = (KeyedRandomness(bytes(32), b"ann").bytes(40) for _ in range(2))
    >>> bool((one == same).all())
    True
    """

    def __init__(self, key: bytes, message: bytes) -> None:
        super().__init__(None)
        self._mac = hmac.new(key, NOISE + message + b"\0", "sha256")
        self._blocks, self._unused = 0, b""

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes."""
        while len(self._unused) < count:
            mac = self._mac.copy()
            mac.update(self._blocks.to_bytes(8, "big"))
            self._blocks, self._unused = self._blocks + 1, self._unused + mac.digest()
        octets, self._unused = self._unused[:count], self._unused[count:]
        return np.frombuffer(octets, dtype=np.uint8)


class KeyedNoise(NamedTuple):
    """Noise that is derived from the identifiers of some people."""

    key: bytes
    collection: str
    identifiers: Sequence[str]

    def draw(self, mechanism: Mechanism, codes: Integers, rows: Integers, report: str) -> pa.Array:
        """Return one report for each code; `rows` are the indices of its people.

        `report` has the numbers of the form and of the report, from 0.
        """
        arrays = []
        for index, row in enumerate(rows):
            message = f"{self.collection} {report} {codes[index]} {self.identifiers[row]}"
            noise = KeyedRandomness(self.key, message.encode())
            arrays.append(mechanism.draw(codes[index : index + 1], noise).array())
        return pa.concat_arrays(arrays) if arrays else mechanism.perturb(codes).array()


# Identifiers -------------------------------------------------------------------------------------


class Identifiers(NamedTuple):
    """The column of identifiers of a table, and the secret key that derives reports from them."""

    column: str
    key: bytes

    def read(self, plan: Plan, column: pa.Array, batch: CodedBatch) -> tuple[Integers, KeyedNoise]:
        """Return the form index of each record of a batch, and the noise derived for them."""
        names = [identifier_text(value) for value in column.to_pylist()]
        if None in names:
            row = names.index(None)
            if batch.kept is not None:
                row = int(np.flatnonzero(batch.kept)[row])
            where = f"record {batch.first + row + 1:,}: column {self.column!r}"
            raise InputError(f"{where} must be an identifier, text or an integer")
        known = [name for name in names if name is not None]
        return derived_forms(plan, known, self.key), KeyedNoise(self.key, plan.collection, known)


def identifiers(plan: Plan, column: Any, key: Any) -> Identifiers:
    """Return the column of identifiers and the key that determine reports; check them."""
    if column is None:
        hint = Setting("identifier"), "), got None"
        raise InputError("key needs the column of identifiers (", *hint, parameter="key")
    if key is None:
        hint = Setting("key"), "), got None"
        raise InputError(
            "identifier needs the secret key that derives forms (", *hint, parameter="identifier"
        )
    if _checks.text(column, "identifier") in plan.collected:
        raise InputError(
            f"the column of identifiers must be none of the plan's attributes, got {column!r}"
        )
    return Identifiers(column, checked_key(key))


def identifier_text(value: Any) -> str | None:
    """Return an identifier as text, equal for text, integer and float columns; None if invalid.

    Examples
    --------
    >>> [identifier_text(value) for value in ("007", 7, 7.0, " ann ", "", None, 0.5)]
    ['007', '7', '7', 'ann', None, None, None]
    """
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if not math.isfinite(value) or value != int(value):
        return None
    return str(int(value))
