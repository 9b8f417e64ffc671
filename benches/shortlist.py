"""Measures the speed that a shortlist gains, and the translations that it changes.

    python benches/shortlist.py burnformer LIST ROUNDS translate --model DIR --input TEXT [OPTIONS]

runs the command with `--shortlist LIST` and without, in turn, the one that begins changing from round to round. The time to start and to
load the model, which is that of an empty text, is taken off. Prints the median seconds of each side, the median of the ratios with the
smallest and the largest one, and the share of lines that differ; all once more in processor seconds, which a busy machine changes less."""

import resource
import statistics
import subprocess
import sys
import time


def run(command, text=None):
    """Seconds, processor seconds and output of a command; with `text` in the place of --input if it is given."""
    if text is not None:
        place = command.index("--input")
        command = command[:place] + command[place + 2 :]
    start = [time.perf_counter(), processor_seconds()]
    done = subprocess.run(command, input=text, capture_output=True, check=True)
    end = [time.perf_counter(), processor_seconds()]
    return [b - a for a, b in zip(start, end)], done.stdout.splitlines()


def processor_seconds():
    """The processor time of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    program, shortlist, rounds, *command = sys.argv[1:]
    sides = {"all": [program, *command], "listed": [program, *command, "--shortlist", shortlist]}
    seconds, outputs = {name: [] for name in sides}, {}
    for number in range(int(rounds)):
        for name in sorted(sides, reverse=number % 2 == 1):
            start, _ = run(sides[name], b"")
            whole, outputs[name] = run(sides[name])
            seconds[name].append([b - a for a, b in zip(start, whole)])
    differ = sum(a != b for a, b in zip(outputs["all"], outputs["listed"]))
    for place, kind in enumerate(["seconds", "processor seconds"]):
        both = [[times[place] for times in seconds[name]] for name in sides]
        ratios = [a / b for a, b in zip(*both)]
        every, listed = map(statistics.median, both)
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{kind}: {every:.2f} against {listed:.2f}, ratio {statistics.median(ratios):.2f} ({spread})")
    print(f"{differ} of {len(outputs['all'])} lines differ ({100 * differ / len(outputs['all']):.1f} %)")


main()
