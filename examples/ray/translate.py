"""Translates a column of Parquet files with Ray: one translator per worker, and the rows of a failed worker again.

    pip install "ray[data]" burnformer-*.whl
    python translate.py input.parquet output --column de --model de-en --workers 2 --threads 1

`input.parquet` is a file or a folder. `output` is a new folder of Parquet files, whose rows have the column `translation`
beside the others. On a cluster, start this after `ray start`; all machines need the package and the model.
"""

import argparse
import os

import ray

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("input")
parser.add_argument("output")
parser.add_argument("--column", default="text", help="the column to translate")
parser.add_argument("--model", default="de-en", help="a model of the package, or a model's folder that every machine sees")
parser.add_argument("--beam", type=int, default=4)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--threads", type=int, default=1, help="the threads of a worker")
parser.add_argument("--batch", type=int, default=2048, help="the rows that a worker translates at a time, sorted by length inside")


class Translate:
    """A worker: it loads the model once, and then translates batches of rows."""

    def __init__(self, model: str, column: str, beam: int, threads: int):
        # Read when the threads start, which is at the first translation.
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        from burnformer import Translator

        self.translator, self.column, self.beam = Translator(model), column, beam

    def __call__(self, rows):
        found = self.translator.translate([str(text) for text in rows[self.column]], beam_size=self.beam)
        rows["translation"] = [translation.text for translation in found]
        return rows


def main():
    options = parser.parse_args()
    # The order of the rows is kept.
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    rows = ray.data.read_parquet(options.input)
    # Ray starts a worker again that was killed, and gives it the rows that it had not finished.
    rows = rows.map_batches(
        Translate,
        fn_constructor_args=(options.model, options.column, options.beam, options.threads),
        batch_size=options.batch,
        num_cpus=options.threads,
        compute=ray.data.ActorPoolStrategy(size=options.workers),
    )
    rows.write_parquet(options.output)
    print(f"{options.output}: {ray.data.read_parquet(options.output).count()} rows")


if __name__ == "__main__":
    main()
