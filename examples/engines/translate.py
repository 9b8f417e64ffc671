"""Translates a column of Parquet files with Ray Data or PySpark: each worker loads the model once, and the rows of a worker that
fails are translated again.

    pip install "ray[data]" burnformer-*.whl
    python translate.py input.parquet output --column de --workers 2

    pip install pyspark pandas pyarrow burnformer-*.whl      # and Java
    python translate.py input.parquet output --column de --workers 2 --engine spark

`input.parquet` is a file or a folder. `output` is a new folder of Parquet files, whose rows have the column `translation` beside
the others. The engine runs on this machine unless `--cluster` names another one; there, every machine needs the packages and sees
the model and the files.
"""

import argparse
import os
import sys

CHUNK = 2048
"""The rows that are translated together, those of similar length in a batch: as many as `burnformer translate` takes."""


class Translate:
    """Adds translations to batches of rows, which are a dict of columns or a data frame."""

    def __init__(self, column: str, model: str, threads: int, options: dict):
        # It is read when the threads start, which is at the first translation.
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        from burnformer import Translator

        self.column, self.options, self.translator = column, options, Translator(model)

    def __call__(self, rows):
        # A missing text is an empty one.
        texts = [text or "" for text in rows[self.column]]
        rows["translation"] = [found.text for found in self.translator.translate(texts, **self.options)]
        return rows


def with_ray(arguments, *constructor):
    import ray

    # Actors hold their processors to the end, so reading and writing need some beside them, or nothing would ever be read.
    local = {"num_cpus": arguments.workers * arguments.threads + 2}
    ray.init(arguments.cluster, **({} if arguments.cluster else local))
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    rows = ray.data.read_parquet(arguments.input)
    # A block is what an actor does at a time, and what is done again if its process dies.
    rows = rows.repartition(target_num_rows_per_block=CHUNK, strict=True)
    rows = rows.map_batches(
        Translate,
        fn_constructor_args=constructor,
        batch_size=CHUNK,
        num_cpus=arguments.threads,
        compute=ray.data.ActorPoolStrategy(size=arguments.workers),
        zero_copy_batch=False,
    )
    rows.write_parquet(arguments.output, mode="error")


def with_spark(arguments, *constructor):
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StringType, StructField, StructType

    if not arguments.cluster:
        os.environ["PYSPARK_PYTHON"] = sys.executable
    master = arguments.cluster or f"local[{arguments.workers}, 4]"
    settings = {
        # The rows that reach a worker together, and the bytes of files for a task, which is done again if its worker dies. A row
        # group of Parquet is the least that Spark reads.
        "spark.sql.execution.arrow.maxRecordsPerBatch": CHUNK,
        "spark.sql.files.maxPartitionBytes": "1m",
        "spark.task.cpus": arguments.threads if arguments.cluster else 1,
    }
    builder = SparkSession.builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    rows = spark.read.parquet(arguments.input)

    def translated(frames):
        translate = Translate(*constructor)
        yield from map(translate, frames)

    schema = StructType([*rows.schema, StructField("translation", StringType())])
    rows.mapInPandas(translated, schema).write.parquet(arguments.output, mode="error")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--column", default="text", help="the column to translate")
    parser.add_argument("--model", default="de-en", help="a model of the package, or a model's folder")
    parser.add_argument("--beam", type=int, help="[default: the model's]")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="the threads of a worker")
    parser.add_argument("--engine", choices=["ray", "spark"], default="ray")
    parser.add_argument("--cluster", help="the address of a Ray cluster, or a Spark master")
    arguments = parser.parse_args()
    options = {"truncate": True} | ({"beam_size": arguments.beam} if arguments.beam else {})
    engine = {"ray": with_ray, "spark": with_spark}[arguments.engine]
    engine(arguments, arguments.column, arguments.model, arguments.threads, options)


if __name__ == "__main__":
    main()
