"""CelebA and Labelled Faces in the Wild: attributes of faces."""

import io
from typing import Any

from seepage.datasets.catalogue import Dataset, add
from seepage.datasets.files import PublishedFile

__all__ = ["CELEBA", "LFW", "LFW_SCORES"]

CELEBA_FILE = PublishedFile(
    "celeba/list_attr_celeba.txt",
    "f0e5da289d5ccf75ffe8811132694922b60f2af59256ed362afa03fefba324d0",
)
LFW_FILE = PublishedFile(
    "lfw/lfw_binary_attributes_top2of3.csv",
    "f2951fe1ac81202972238e5194704886397c708f5e46a821975674ef2f5b39fd",
)
LFW_SCORES_FILE = PublishedFile(
    "lfw/lfw_attributes_subset2999.txt",
    "10948dff59cd0fae95104eaba5392dc634c84127106223d392b8fa1882d825bd",
)


def read_celeba() -> Any:
    """Return the 202,599 x 40 attributes, each -1 or 1, without the image names."""
    import pyarrow.csv as csv

    count, header, body = CELEBA_FILE.read().split(b"\r\n", 2)
    names = ["image", *header.decode("ascii").split()]
    table = csv.read_csv(
        io.BytesIO(body.replace(b"  ", b" ")),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter=" "),
    )
    assert table.num_rows == int(count)
    return table.drop_columns(["image"])


def read_lfw() -> Any:
    """Return 13,143 x 73 attributes, 0 or 1, without the image names.

    1 means that the score is positive and among the top two thirds of the positive scores; the
    column Female, made from Male by the same rule, is left out.
    """
    import pyarrow.csv as csv

    return csv.read_csv(io.BytesIO(LFW_FILE.read())).drop_columns(["image", "Female"])


def read_lfw_scores() -> Any:
    """Return 2,999 x 73 attributes as real classifier scores, without person and image number.

    The format is that of the published text: a comment line, a header with one field more than
    the rows, and tab-separated numbers.
    """
    import pyarrow.csv as csv

    _, header, body = LFW_SCORES_FILE.read().split(b"\n", 2)
    names = header.decode("utf-8").split("\t")[1:]
    table = csv.read_csv(
        io.BytesIO(body),
        read_options=csv.ReadOptions(column_names=names),
        parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
    )
    return table.drop_columns(["person", "imagenum"])


CELEBA = add(
    Dataset(
        name="celeba",
        title="40 binary attributes of 202,599 photographs of faces",
        files=(CELEBA_FILE,),
        reader=read_celeba,
        licence="non-commercial research only; no redistribution",
        citation="Liu, Luo, Wang, Tang: Deep Learning Face Attributes in the Wild, ICCV 2015",
        address="https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        by_hand="accept the agreement on its page, download list_attr_celeba.txt, and put it into "
        "the folder celeba of SEEPAGE_DATA",
    )
)
LFW = add(
    Dataset(
        name="lfw",
        title="73 binary attributes of 13,143 photographs of faces (derived from scores)",
        files=(LFW_FILE,),
        reader=read_lfw,
        licence="non-commercial research only",
        citation="Kumar, Berg, Belhumeur, Nayar: Attribute and Simile Classifiers, ICCV 2009",
        address="https://www.cs.columbia.edu/CAVE/databases/pubfig/",
        by_hand="put lfw_binary_attributes_top2of3.csv into the folder lfw of SEEPAGE_DATA",
    )
)
LFW_SCORES = add(
    Dataset(
        name="lfw-scores",
        title="73 real-valued attribute scores of 2,999 photographs (62 people), a subset",
        files=(LFW_SCORES_FILE,),
        reader=read_lfw_scores,
        licence="non-commercial research only",
        citation="Kumar, Berg, Belhumeur, Nayar: Attribute and Simile Classifiers, ICCV 2009",
        address="https://www.cs.columbia.edu/CAVE/databases/pubfig/",
        by_hand="put lfw_attributes_subset2999.txt into the folder lfw of SEEPAGE_DATA",
        table={"bins": [float("-inf"), 0.0, float("inf")]},
    )
)
