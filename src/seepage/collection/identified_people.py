"""One permanent report per identified person: keys, derived forms, derived
randomness.
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

from seepage._core import checks
from seepage._core.arrays import Integers
from seepage._core.errors import InputError
from seepage._core.files import read_small
from seepage.designs.forms.form import form_of_words
from seepage.mechanisms.base import Mechanism
from seepage.mechanisms.randomness import Randomness
from seepage.plan.plan_content import PlanContent
from seepage.tables.scan import CodedBatch

FIXED = ("domain", "bins", "pool", "missing")
"""Table options that a plan fixes."""


# Identifiers --------------------------------------------------------------------------

FORM_PREFIX = b"seepage form\0"
"""Prefix of the HMAC messages that draw forms: other uses of the key give other bytes.
"""


NOISE_PREFIX = b"seepage noise\0"
"""Prefix of the HMAC messages that draw noise."""


ANSWER_PREFIX = b"seepage answer\0"
"""Prefix of the HMAC messages that draw answers for people without one."""


MIN_KEY_BYTES = 16
"""Least length of a key."""


NEW_KEY_BYTES = 32
"""Length of a key that is generated."""


def new_key(path: str | os.PathLike[str]) -> bytes:
    """Write a new random key of identified people to a new file with mode 0600, in
    hexadecimal; return the key.
    """
    key = secrets.token_bytes(NEW_KEY_BYTES)
    file = checks.path(path, "key file")
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{file} cannot be written: {error.strerror}") from None
    with os.fdopen(descriptor, "w") as stream:
        stream.write(f"{key.hex()}\n")
    return key


def checked_key(key: Any) -> bytes:
    """Return the key for identified people, of at least 16 bytes, given as bytes or as
    the path of a hexadecimal file.
    """
    if not isinstance(key, bytes):
        file = checks.path(key, "key")
        try:
            key = bytes.fromhex(read_small(file).decode())
        except ValueError:
            rule = f"key must be a file of hexadecimal digits, got {str(file)!r}"
            raise InputError(rule, parameter="key") from None
    if len(key) < MIN_KEY_BYTES:
        rule = f"key must have at least {MIN_KEY_BYTES} bytes, got {len(key)}"
        raise InputError(rule, parameter="key")
    return bytes(key)


def derived_forms(
    plan: PlanContent, identifiers: Iterable[str], key: bytes
) -> Integers:
    """Return the form index of each identified person: nobody answers two forms.

    The word that draws the form is the first 8 bytes, big-endian, of

        HMAC-SHA-256(key, "seepage form" 0x00 identifier)

    with the identifier as UTF-8 text without surrounding blanks; an integer is its
    decimal digits.
    """
    digests = [
        hmac.digest(key, FORM_PREFIX + identifier.strip().encode(), "sha256")
        for identifier in identifiers
    ]
    first_words = b"".join(digest[:8] for digest in digests)
    words = np.frombuffer(first_words, dtype=">u8").astype(np.uint64)
    return form_of_words(plan.forms, words)


class KeyedRandomness(Randomness):
    """The bytes that are derived from a key and a message, in blocks of 32."""

    def __init__(self, key: bytes, message: bytes) -> None:
        """Derive random bytes from the secret key and the message of an identified
        person.
        """
        super().__init__(None)
        self._mac = hmac.new(key, NOISE_PREFIX + message + b"\0", "sha256")
        self._blocks = 0
        self._unused = b""

    def bytes(self, count: int) -> NDArray[np.uint8]:
        """Return the next `count` bytes derived from an identified person's key."""
        while len(self._unused) < count:
            mac = self._mac.copy()
            mac.update(self._blocks.to_bytes(8, "big"))
            self._unused += mac.digest()
            self._blocks += 1
        octets = self._unused[:count]
        self._unused = self._unused[count:]
        return np.frombuffer(octets, dtype=np.uint8)


class IdentifiedPeople(NamedTuple):
    """People whose noise is derived from their identifiers and a secret key.

    Noise that is drawn independently averages out if a person reports often.  So the
    bytes that draw the report number r of form f for the answer with code u are
    derived: block j of them, 32 bytes, is

        HMAC-SHA-256(key, "seepage noise" 0x00 collection " " f " " r " " u " "
        identifier 0x00 j)

    with the digest of the collection in hexadecimal, f, r and u in decimal digits, all
    from 0, and j as 8 bytes, big-endian.  The same answer gives the same report again
    [the memoised response of RAPPOR, Erlingsson et al. 2014]; another answer gives a
    report with noise of its own, and two different reports prove that the answer
    changed, which no limit covers.  Each report is drawn
    singly, in about 50 us.

    The word that draws an answer for a person without one is the first 8 bytes,
    big-endian, of

        HMAC-SHA-256(key, "seepage answer" 0x00 attribute 0x00 identifier)

    so that she keeps it, in any plan of this key, and the draws for two attributes are
    independent.

    The key is secret: whoever knows it and a person's report can find the answer.
    """

    key: bytes
    collection: str
    identifiers: Sequence[str]

    def answer_words(self, attribute: str, rows: Integers) -> NDArray[np.uint64]:
        """Return the words that draw the answers of identified people without one, by
        their rows.
        """
        message = ANSWER_PREFIX + attribute.encode() + b"\0"
        digests = [
            hmac.digest(self.key, message + self.identifiers[row].encode(), "sha256")
            for row in rows.tolist()
        ]
        first_words = b"".join(digest[:8] for digest in digests)
        return np.frombuffer(first_words, dtype=">u8").astype(np.uint64)

    def draw(
        self, mechanism: Mechanism, codes: Integers, rows: Integers, report: str
    ) -> pa.Array:
        """Return one report of an identified person for each code; `rows` are the
        indices of its people.

        `report` has the numbers of the form and of the report, from 0.
        """
        if not len(rows):
            return mechanism.perturb(codes).array()
        arrays = []
        for index, row in enumerate(rows):
            message = (
                f"{self.collection} {report} {codes[index]} {self.identifiers[row]}"
            )
            noise = KeyedRandomness(self.key, message.encode())
            arrays.append(mechanism.draw(codes[index : index + 1], noise).array())
        return pa.concat_arrays(arrays)


def read_identifiers(column: pa.Array, name: str, batch: CodedBatch) -> list[str]:
    """Return the identifiers of the people of a batch, from the column that has
    them.
    """
    identifiers = list[str]()
    for row, value in enumerate(column.to_pylist()):
        identifier = identifier_text(value)
        if identifier is None:
            record = _record_number(batch, row)
            raise InputError(
                f"record {record:,}: column {name!r} must be an identifier, text or an "
                "integer"
            )
        identifiers.append(identifier)
    return identifiers


def _record_number(batch: CodedBatch, row: int) -> int:
    """Return the number in the table, from 1, of an identified person's row that a
    batch has kept.
    """
    if batch.kept is not None:
        row = int(np.flatnonzero(batch.kept)[row])
    return batch.first + row + 1


def identifier_text(value: Any) -> str | None:
    """Return a person's identifier as text, equal for text, integer and float columns;
    None if invalid.

    Examples
    --------
    >>> [identifier_text(value) for value in ("007", 7, 7.0, " ann ", "", None, 0.5)]
    ['007', '7', '7', 'ann', None, None, None]
    """
    if isinstance(value, str):
        return value.strip() or None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        return None
    if math.isfinite(value) and value == int(value):
        return str(int(value))
    return None
