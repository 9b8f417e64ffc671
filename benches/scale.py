"""A model of the time of an update over several processes: what it predicts, and whether it holds on this machine.

    python benches/scale.py table                                # base and big on 4 to 64 machines, as in docs/guide/how-to/mpi.md
    python benches/scale.py check PROGRAMS SOURCE TARGET [RATE]  # small cases, measured and predicted

PROGRAMS is the folder of `burnformer` and `burnformer-bench`, both built with `--features mpi`; SOURCE and TARGET are training text. RATE
(Mbit/s) puts `tc tbf` on a loopback device of their own (Linux, root), so that all processes share one link of that rate."""

import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

CORES = len(os.sched_getaffinity(0))


def update_seconds(batches, processes, batch, spread, step, exchange, share=1.0):
    """An update of `batches` batches. A process computes its batches (`batch` seconds each, with the standard deviation `spread`) and the
    step of the optimiser in `share` of a core; all wait for the slowest (the expected maximum by Blom's formula), and exchange."""
    own = batches / processes
    slowest = statistics.NormalDist().inv_cdf((processes - 0.375) / (processes + 0.25)) if processes > 1 else 0
    return (own * batch + slowest * spread * math.sqrt(own) + step) / share + exchange


def exchange_seconds(parameters, processes, host, rate, latency=50e-6, bytes_each=4):
    """Two rounds, in each of which a process sends and receives (N - 1)/N of all gradients at `rate` bytes per second, in N - 1 messages.
    `host` is the time per parameter in the memory of the machine."""
    wire = 2 * (processes - 1) / processes * bytes_each * parameters / rate
    return parameters * host + wire + 2 * (processes - 1) * latency


def table(node=2e12, host=2e-9, varies=0.1):
    """Seconds per update, and the share of them in which a machine computes its batches, on 4, 16 and 64 machines. A source and a target token
    together take six operations per parameter, of `node` per second; the step of the optimiser moves 20 bytes per parameter at 50 GB/s."""
    print("| model, tokens per update | 1 Gbit/s | 10 Gbit/s | 100 Gbit/s |\n|---|---|---|---|")
    for name, parameters in (("base", 63e6), ("big", 214e6)):
        for tokens in (25_000, 400_000):
            cells = []
            for gbit in (1, 10, 100):
                of_rate = []
                for machines in (4, 16, 64):
                    own = 6 * parameters * tokens / node / machines
                    exchange = exchange_seconds(parameters, machines, host, gbit * 1e9 / 8)
                    seconds = update_seconds(machines, machines, own, varies * own, 20 * parameters / 50e9, exchange)
                    of_rate.append(f"{seconds:.3g} s ({100 * own / seconds:.0f} %)")
                cells.append(", ".join(of_rate))
            print(f"| {name}, {tokens:,} | " + " | ".join(cells) + " |")


MODELS = {
    "2.9 million": ["model.d_model=192", "model.heads=6", "model.d_ff=768", "model.encoder_layers=2", "model.decoder_layers=2", "training.budget=2048"],
    "6.5 million": ["model.d_model=256", "model.heads=4", "model.d_ff=1024", "model.encoder_layers=3", "model.decoder_layers=3", "training.budget=1024"],
}
COMMON = ["tokenizer.train.vocab_size=4000", "training.log_every=1", "validation.every=0", "checkpoints.every=0", "training.precision=float32"]
MPIRUN = "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1".split()
TCP = "--mca btl tcp,self --mca btl_tcp_if_include lo --mca oob_tcp_if_include lo".split()


class Check:
    def __init__(self, programs, text, rate):
        self.programs, self.text, self.rate = programs, text, rate
        self.kept = tempfile.TemporaryDirectory()
        self.folder = self.kept.name

    def mpirun(self, processes):
        command = [*MPIRUN, *(TCP if self.rate else []), "-n", str(processes)]
        if not self.rate:
            return command
        limit = f"ip link set lo up && tc qdisc add dev lo root tbf rate {self.rate}mbit burst 256kb latency 400ms && exec \"$@\""
        return ["unshare", "-n", "sh", "-c", limit, "sh", *command]

    def start(self, model, batches, updates, before=()):
        out = tempfile.mkdtemp(dir=self.folder)
        settings = [*COMMON, *MODELS[model], f"training.accumulate={batches}", f"training.max_updates={updates}"]
        command = [*before, f"{self.programs}/burnformer", "train", "--train", *self.text, "--out", out]
        command += [part for setting in settings for part in ("--set", setting)]
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        return out, subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def times(self, run):
        """Seconds of each update but the first three."""
        out, process = run
        _, error = process.communicate()
        assert process.returncode == 0, error.decode()
        ends = [json.loads(line)["seconds"] for line in open(f"{out}/metrics.jsonl")]
        return [b - a for a, b in zip(ends, ends[1:])][2:]

    def constants(self, model):
        """Seconds of a batch, their standard deviation, and seconds of the step, where every core has a process of its own."""
        of = {}
        for batches, updates in ((1, 20), (4, 9)):
            runs = [self.start(model, batches, updates) for _ in range(CORES)]
            of[batches] = [seconds for run in runs for seconds in self.times(run)]
        batch = (statistics.mean(of[4]) - statistics.mean(of[1])) / 3
        return batch, statistics.stdev(of[1]), max(0.0, statistics.mean(of[1]) - batch)

    def exchange(self, parameters, processes):
        command = [f"{self.programs}/burnformer-bench", "exchange", "--json", "--parameters", str(parameters)]
        self.rate, rate = None, self.rate
        record = subprocess.run([*self.mpirun(processes), *command], check=True, capture_output=True).stdout
        self.rate = rate
        seconds = json.loads(record)["seconds"]
        # All processes share the one loopback device.
        wire = 2 * (processes - 1) * 4 * parameters / (rate * 1e6 / 8) if rate else 0
        return seconds + wire

    def run(self, model):
        batch, spread, step = self.constants(model)
        print(f"{model} parameters: batch {batch:.3f} s (± {spread:.3f}), step {step:.3f} s")
        print("| processes | batches | exchange | predicted | measured | off by |\n|---|---|---|---|---|---|")
        for processes, batches in ((2, 2), (2, 4), (2, 8), (4, 4), (4, 8)):
            exchange = self.exchange(int(float(model.split()[0]) * 1e6), processes)
            share = min(1.0, CORES / processes)
            predicted = update_seconds(batches, processes, batch, spread, step, exchange, share)
            measured = statistics.mean(self.times(self.start(model, batches, 9 if batches < 8 else 7, self.mpirun(processes))))
            print(f"| {processes} | {batches} | {exchange:.3f} | {predicted:.3f} | {measured:.3f} | {100 * (predicted / measured - 1):+.0f} % |", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["table"]:
            table()
        case ["check", programs, source, target, *rate]:
            check = Check(programs, [source, target], float(rate[0]) if rate else None)
            only = os.environ.get("MODEL")
            for name in [only] if only else MODELS:
                check.run(name)
        case _:
            sys.exit(__doc__)
