"""The first half hour on a machine with a graphics card: is the card computed with correctly, and how fast?

usage: measure.py [--results FOLDER] [--minutes 9] [--backends cuda,vulkan,wgpu] [--only TEXT] [--quick]

Runs beside the files that pack.sh wrote. Needs Python 3.8 or newer and nothing else; PyTorch and CTranslate2 are
measured too where they are installed. Each step writes FOLDER/STEP.json and its output to FOLDER/STEP.log; a step whose
result exists is left out, so that the script goes on where it was cut off. No step is begun that --minutes does not
leave time for. At the end, and after each step, FOLDER/table.md has all results. --quick measures sizes that a graphics
driver which computes on the processor manages, to test the script itself.
"""
import argparse
import ctypes.util
import gzip
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BASE = "--d 512 --ff 2048 --heads 8 --layers 6 --vocab 8000 --budget 25000 --updates 30 --warm 8".split()
QUICK = "--d 64 --ff 128 --heads 2 --layers 1 --vocab 500 --budget 256 --updates 2 --warm 1".split()


class Kit:
    def __init__(self, a):
        self.a, self.end = a, time.time() + 60 * a.minutes
        self.results = a.results.resolve()
        self.results.mkdir(parents=True, exist_ok=True)
        self.work = HERE / "work"
        self.work.mkdir(exist_ok=True)
        # Burn keeps its choices of kernels here, so that they are measured once.
        self.environment = {**os.environ, "XDG_CACHE_HOME": str(self.work / "cache")}

    def text(self, name):
        """The path of a plain text of the kit."""
        path = self.work / name
        if not path.exists():
            with gzip.open(HERE / (name + ".gz")) as packed, open(path, "wb") as plain:
                shutil.copyfileobj(packed, plain)
        return str(path)

    def program(self, backend, name):
        if not (self.work / backend).exists():
            with tarfile.open(HERE / (backend + ".tar.xz")) as packed:
                packed.extractall(self.work)
        return str(self.work / backend / name)

    def step(self, name, seconds, work):
        """Runs `work`, which returns a JSON value, unless its result exists or `seconds` are more than are left."""
        file = self.results / (name + ".json")
        if (self.a.only and self.a.only not in name) or (file.exists() and "error" not in json.loads(file.read_text())):
            return
        left = self.end - time.time()
        if left < seconds:
            say(f"{name}: left for the next call (needs {seconds} s, {left:.0f} are left)")
            return
        say(name)
        start, card = time.time(), Card()
        try:
            result = work(name, max(seconds, left))
        except Exception as error:  # A step that fails must not keep the next from being measured.
            result = {"error": str(error)[-2000:]}
        result = result if isinstance(result, dict) else {"result": result}
        result.update(seconds=round(time.time() - start, 2), card=card.stop())
        temporary = file.with_suffix(".tmp")
        temporary.write_text(json.dumps(result, indent=1))
        temporary.replace(file)
        (self.results / "table.md").write_text(table(self.results))
        say("  " + (result.get("error", "done")[:300]))

    def run(self, name, command, timeout, variables={}, stdin=None):
        """Standard output of `command`; both streams are appended to the log of the step `name`."""
        command = [str(part) for part in command]
        environment = {**self.environment, **variables}
        done = subprocess.run(
            command, cwd=self.work, env=environment, timeout=timeout, text=True, stdin=stdin or subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        with open(self.results / (name + ".log"), "a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}\nexit code {done.returncode}\n")
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr.strip()[-1500:]}")
        return done.stdout


class Card:
    """The largest use, memory and power of the card by nvidia-smi while a step runs."""

    FIELDS = ["utilization.gpu", "memory.used", "power.draw", "clocks.sm"]

    def __init__(self):
        self.rows, self.done = [], threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        query = ["nvidia-smi", "--query-gpu=" + ",".join(self.FIELDS), "--format=csv,noheader,nounits"]
        while shutil.which("nvidia-smi") and not self.done.wait(1):
            output = subprocess.run(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            try:
                self.rows.append([float(part) for part in output.splitlines()[0].split(",")])
            except (ValueError, IndexError):
                pass

    def stop(self):
        self.done.set()
        self.thread.join()
        columns = list(zip(*self.rows))
        return {name: {"mean": sum(c) / len(c), "max": max(c)} for name, c in zip(self.FIELDS, columns)}


def say(text):
    print(text, file=sys.stderr, flush=True)


def has(module):
    return importlib.util.find_spec(module) is not None


def machine(kit):
    def work(name, _):
        loaders = {lib: ctypes.util.find_library(lib) for lib in ["cuda", "nvrtc", "vulkan", "cublas"]}
        smi = shutil.which("nvidia-smi")
        return {
            "system": platform.platform(), "processors": os.cpu_count(), "python": sys.version.split()[0],
            "libraries": loaders, "packages": [m for m in ["torch", "ctranslate2", "tokenizers", "sentencepiece"] if has(m)],
            "nvidia_smi": kit.run(name, [smi], 60).splitlines() if smi else None,
        }
    return work


def devices(kit, backend):
    def work(name, limit):
        output = kit.run(name, [kit.program(backend, "burnformer"), "devices", "--device", backend, "--test", "--json"], limit)
        return {"devices": json.loads(output)}
    return work


def parity(kit, backend):
    """Fifty updates of a small model with dropout on the card and on the processor: losses and translations."""
    def work(name, limit):
        program = kit.program(backend, "burnformer")
        losses, texts = {}, {}
        for device in ["cpu", backend]:
            out = kit.work / f"parity-{backend}-{device}"
            shutil.rmtree(out, ignore_errors=True)
            settings = ["model.d_model=64", "model.heads=4", "model.d_ff=128", "model.encoder_layers=1", "model.decoder_layers=1",
                        "training.max_updates=50", "training.max_minutes=0", "training.log_every=1", "training.precision=float32",
                        "training.budget=1024", "tokenizer.train.vocab_size=2000", "validation.max_sentences=20", "validation.every=50"]
            command = [program, "train", "--preset", "tiny", "--device", device, "--out", out]
            kit.run(name, command + [part for s in settings for part in ["--set", s]], limit)
            rows = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
            losses[device] = [row["loss"] for row in rows if row["kind"] == "train"]
            lines = Path(kit.text("test.de")).read_text(encoding="utf-8").splitlines()[:200]
            (kit.work / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8")
            with open(kit.work / "lines") as stdin:
                texts[device] = kit.run(name, [program, "translate", "--model", "embedded:de-en", "--device", device], limit, stdin=stdin)
        pairs = list(zip(losses["cpu"], losses[backend]))
        same = [a == b for a, b in zip(texts["cpu"].splitlines(), texts[backend].splitlines())]
        worst = max(abs(a - b) for a, b in pairs)
        return {"updates": len(pairs), "largest_difference_of_losses": worst, "same_translations": sum(same), "of": len(same),
                "verdict": "agrees" if worst < 1e-3 and sum(same) >= 0.98 * len(same) else "DIFFERS"}
    return work


def training(kit, backend, precision):
    def work(name, limit):
        sizes = QUICK if kit.a.quick else BASE + ["--multiple", "8"]
        text = ["--train", kit.text("train.de"), kit.text("train.en")]
        command = [kit.program(backend, "burnformer-lab"), "bench", "train", "--device", backend, "--precision", precision]
        return json.loads(kit.run(name, command + text + sizes, limit))
    return work


def torch_training(kit, device):
    def work(name, limit):
        sizes = QUICK if kit.a.quick else BASE
        settings = "float32/eager,bfloat16/eager,float32/compiled,bfloat16/compiled"
        command = [sys.executable, HERE / "peers/torch_train.py", kit.text("train.de"), kit.text("train.en"), "--device", device]
        output = kit.run(name, command + sizes + ["--settings", "float32/eager" if kit.a.quick else settings], limit)
        return {"runs": [json.loads(line) for line in output.splitlines() if line.startswith("{")]}
    return work


def translating(kit, backend, beam):
    def work(name, limit):
        source = kit.text("test.de")
        command = [kit.program(backend, "burnformer"), "translate", "--model", "embedded:de-en", "--device", backend, "--compute",
                   "float32", "--beam", beam, "--input", source, "--output", kit.work / "hypotheses"]
        seconds = []
        for _ in range(1 if kit.a.quick else 3):
            start = time.time()
            kit.run(name, command, limit)
            seconds.append(time.time() - start)
        score = [kit.program(backend, "burnformer"), "eval-bleu", "--hypothesis", kit.work / "hypotheses", "--reference", kit.text("test.en"), "--json"]
        return {"wall_s": seconds, "sentences": 2000, "beam": beam, "bleu": json.loads(kit.run(name, score, limit))}
    return work


def ct2(kit, device):
    def work(name, limit):
        command = [sys.executable, HERE / "peers/ct2_gpu.py", HERE / "ct2", HERE / "ct2/tokenizer.json", kit.text("test.de"), "--device", device]
        output = kit.run(name, command + (["--types", "float32"] if device == "cpu" else []), limit)
        return {"runs": [json.loads(line) for line in output.splitlines()]}
    return work


def default_run(kit, backend):
    """The default training, for the minutes that it takes anywhere."""
    def work(name, limit):
        out = kit.work / f"default-{backend}"
        more = ["--set", "training.max_updates=4", "--set", "validation.max_sentences=5"] if kit.a.quick else []
        command = [kit.program(backend, "burnformer"), "train", "--device", backend, "--out", out, *more]
        scores = kit.run(name, command + (["--resume"] if out.exists() else []), limit)
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        trained = [row for row in rows if row["kind"] == "train"]
        return {"updates": trained[-1]["step"], "last": trained[-1], "scores": scores.splitlines()}
    return work


def steps(kit):
    """The most telling first: whether the card is computed with correctly, then training, then the rest."""
    quick = kit.a.quick
    backends = [b for b in kit.a.backends.split(",") if (HERE / (b + ".tar.xz")).exists()]
    smi = shutil.which("nvidia-smi")
    kit.step("machine", 5, machine(kit))
    for backend in backends:
        kit.step(f"{backend}-devices", 30, devices(kit, backend))
    for backend in backends[:1]:
        kit.step(f"{backend}-parity", 60, parity(kit, backend))
        for precision in ["bfloat16", "float32"][quick:]:
            kit.step(f"{backend}-train-{precision}", 90, training(kit, backend, precision))
    if has("torch") and has("sentencepiece"):
        kit.step("torch-train", 240, torch_training(kit, "cuda" if smi else "cpu"))
    for backend in backends[:1]:
        for beam in [4, 1]:
            kit.step(f"{backend}-translate-beam{beam}", 60, translating(kit, backend, beam))
    if has("ctranslate2") and has("tokenizers"):
        kit.step("ctranslate2-translate", 60, ct2(kit, "cuda" if smi else "cpu"))
    for backend in backends[1:]:
        kit.step(f"{backend}-parity", 60, parity(kit, backend))
        for precision in ["bfloat16", "float32"][quick:]:
            kit.step(f"{backend}-train-{precision}", 90, training(kit, backend, precision))
    for backend in backends[:1]:
        kit.step(f"{backend}-default", 30 if quick else 540, default_run(kit, backend))


def table(folder):
    """The results as Markdown: a row for each step, its main figures in words."""
    rows = ["| step | seconds | figures |", "|---|---|---|"]
    for file in sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime):
        value = json.loads(file.read_text())
        shown = {k: v for k, v in value.items() if k not in ["seconds", "card", "nvidia_smi"]}
        figures = json.dumps(shown, ensure_ascii=False).replace("|", "/")
        memory = value.get("card", {}).get("memory.used", {}).get("max")
        memory = f"; at most {memory:.0f} MiB on the card" if memory else ""
        rows.append(f"| {file.stem} | {value.get('seconds', 0):.0f} | {figures[:600]}{memory} |")
    return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--results", type=Path, default=HERE / "results", help="folder of the results")
    parser.add_argument("--minutes", type=float, default=9, help="no step is begun that would end later")
    parser.add_argument("--backends", default="cuda,vulkan,wgpu", help="the most important first")
    parser.add_argument("--only", help="only steps with this text in their name")
    parser.add_argument("--quick", action="store_true", help="small sizes, to test this script")
    kit = Kit(parser.parse_args())
    steps(kit)
    print((kit.results / "table.md").read_text())


if __name__ == "__main__":
    main()
