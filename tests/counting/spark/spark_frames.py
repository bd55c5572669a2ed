"""DataFrames for the tests of Spark."""


def computed(spark, path):
    """Return a DataFrame of Parquet files that Spark reads: a plain scan would be its
    files.
    """
    return spark.read.parquet(path).where("true")
