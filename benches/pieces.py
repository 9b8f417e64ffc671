"""A long run in pieces beside the same run in one piece.

    python benches/pieces.py FOLDER UPDATES [--program P] [--seconds S] [--seed N] [TRAIN_OPTION ...]

Trains on the text inside the program twice, in FOLDER/whole and in FOLDER/pieces. The second run is killed (SIGKILL)
at random times, every S seconds on average (120), and resumed, until it has made its UPDATES. Then every file of the
two runs is compared, without clock readings. The memory that the first process holds is read every 5 seconds: the
program prints the largest figure of each tenth of its time. The options go to `train`.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

CLOCKS = {"seconds", "tokens_per_second", "data_wait", "since", "state.json"}
JSON = {"metrics.jsonl", "state.json", "manifest.json"}


def start(a, out):
    command = [a.program, "train", "--out", str(out), "-q", "--set", "training.fit=false"]
    command += ["--set", "training.max_minutes=0", "--set", f"training.max_updates={a.updates}", *a.options]
    if (out / "config.toml").exists():
        command.append("--resume")
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def resident(pid):
    """The memory of a process in MB."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


def whole(a):
    """Trains in one piece, and returns the memory every 5 seconds."""
    process, samples = start(a, a.folder / "whole"), []

    def sample():
        while process.poll() is None:
            try:
                samples.append(resident(process.pid))
            except (OSError, IndexError):
                return
            time.sleep(5)

    watcher = threading.Thread(target=sample)
    watcher.start()
    said = process.communicate()[1]
    watcher.join()
    if process.returncode:
        sys.exit(said.decode())
    return samples


def pieces(a):
    """Trains in pieces. Returns the number of kills."""
    draw, kills = random.Random(a.seed), 0
    while True:
        process = start(a, a.folder / "pieces")
        try:
            said = process.communicate(timeout=draw.uniform(0, 2 * a.seconds))[1].decode()
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        if process.returncode == 0 or "nothing to do" in said:
            return kills
        sys.exit(said)


def without_clocks(value):
    if isinstance(value, dict):
        return {key: without_clocks(each) for key, each in value.items() if key not in CLOCKS}
    return [without_clocks(each) for each in value] if isinstance(value, list) else value


def files(folder):
    """The comparable content of every file below `folder`, by its path."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or path.name in ("run.lock", "train.log") or path.name.startswith("events.out."):
            continue
        content = path.read_bytes()
        if path.name in JSON:
            lines = content.splitlines() if path.suffix == ".jsonl" else [content]
            content = json.dumps([without_clocks(json.loads(line)) for line in lines]).encode()
        found[name] = content
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("updates", type=int)
    parser.add_argument("--program", default="target/release/burnformer")
    parser.add_argument("--seconds", type=float, default=120, help="mean time between kills [default: 120]")
    parser.add_argument("--seed", type=int, default=1)
    a, a.options = parser.parse_known_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    begin = time.time()
    samples = whole(a)
    minutes = (time.time() - begin) / 60
    tenth = max(1, len(samples) // 10)
    tenths = [max(samples[at : at + tenth]) for at in range(0, len(samples), tenth)]
    print(f"in one piece: {minutes:.1f} minutes; MB in each tenth:", *(f"{mb:.0f}" for mb in tenths), flush=True)
    begin = time.time()
    kills = pieces(a)
    print(f"in pieces: {(time.time() - begin) / 60:.1f} minutes, {kills} kills", flush=True)
    one, other = files(a.folder / "whole"), files(a.folder / "pieces")
    different = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    size = sum(map(len, one.values()))
    print(f"{len(one)} files, {size / 1e6:.0f} MB, different: {different or 'none'}")
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
