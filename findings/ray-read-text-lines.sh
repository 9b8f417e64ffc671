#!/usr/bin/env bash
# Ray 2.60.0 (PyPI), `ray.data.read_text`: it leaves out empty lines, and splits lines at U+2028,
# U+0085, a form feed and a carriage return alone. `map_batches` with two actors changes the order.
#
# Expected: a row for each line of the file, in its order, as `open(name, newline="\n")` reads it.
# Seen: of five lines, eight rows are made without empty lines and nine with them
#       (`drop_empty_lines=False`), because each of these characters ends a row. The rows of a slow
#       actor come later, unless `DataContext.execution_options.preserve_order` is set, which is not
#       the default. Parquet keeps the same texts as five rows.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "ray[data]==2.60.0" pyarrow==26.0.1 pandas==3.1.1 numpy==2.4.6
cd "$folder"
# A busy machine needs longer than the 30 seconds that Ray waits for its processes.
export RAY_AUTH_MODE=disabled RAY_raylet_start_wait_time_s=300 RAY_agent_register_timeout_ms=300000
venv/bin/python - <<'PYTHON' 2> log
import time

import ray
from pyarrow import Table, parquet

lines = ["one", "", "two\u2028two\u0085two", "three\fthree", "four\rfour"]
with open("lines", "w", newline="\n") as file:
    file.writelines(line + "\n" for line in lines)
parquet.write_table(Table.from_pydict({"text": lines}), "lines.parquet")
ray.init(num_cpus=4, include_dashboard=False)
context = ray.data.DataContext.get_current()
context.enable_progress_bars = False


class SlowStart:
    """Passes rows on, the first one after five seconds."""

    def __call__(self, rows):
        if rows["id"][0] == 0:
            time.sleep(5)
        return rows


def order(preserve):
    context.execution_options.preserve_order = preserve
    rows = ray.data.range(8, override_num_blocks=8)
    rows = rows.map_batches(SlowStart, batch_size=1, compute=ray.data.ActorPoolStrategy(size=2))
    return [row["id"] for row in rows.take_all()]


def texts(rows):
    return [row["text"] for row in rows.take_all()]


default = texts(ray.data.read_text("lines"))
every = texts(ray.data.read_text("lines", drop_empty_lines=False))
table = texts(ray.data.read_parquet("lines.parquet"))
free = order(preserve=False)
kept = order(preserve=True)
print(f"Ray {ray.__version__}, {len(lines)} lines:")
print(f"read_text: {len(default)} rows, with empty lines: {len(every)} rows, read_parquet: {len(table)} rows")
print("two actors:", free, "with preserve_order:", kept)
assert default == [part for line in lines for part in line.splitlines()], default
assert every == [part for line in lines for part in line.splitlines() or [""]], every
assert table == lines, table
assert free != sorted(free) and kept == list(range(8)), (free, kept)
PYTHON
