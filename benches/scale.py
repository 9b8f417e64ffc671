"""A model of the time of an update over several processes: base and big on 4 to 64 machines, as in docs/guide/how-to/mpi.md.

    python benches/scale.py"""

import math
import statistics


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


if __name__ == "__main__":
    table()
