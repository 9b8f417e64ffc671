"""Trains small models with Marian, one for each option, and translates sentences with it in five searches, for the tests of
`it/marian_trained.rs`.

    pip install pymarian==1.12.42 sentencepiece pyyaml
    zstd -d assets/corpus/tatoeba-de-en/train.*.zst --output-dir-flat TEXT
    python marian.py OUT TEXT/train.de TEXT/train.en
    BURNFORMER_MARIAN=OUT cargo test --release -p burnformer-interop --test it trained_models -- --ignored --nocapture

A model takes about ten seconds on one core. What is in OUT already is not trained again, but translated again. With `--tiny`
as the first argument, a few models of letters are made: those of `fixtures/marian_trained`.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import sentencepiece
import yaml

TRAINING = """--dim-emb 32 --transformer-heads 4 --transformer-dim-ffn 64 --enc-depth 2 --dec-depth 2 --after-batches 200 --mini-batch 64
    --learn-rate 0.005 --seed 1 --overwrite --cpu-threads 1 --workspace 256 --disp-freq 100""".split()
TINY = "--dim-emb 8 --transformer-heads 2 --transformer-dim-ffn 12 --enc-depth 1"
PRE = "--transformer-preprocess n --transformer-postprocess da"
SSRU = "--transformer-decoder-autoreg rnn --dec-cell ssru"
AAN = "--transformer-decoder-autoreg average-attention --transformer-dim-aan 48"
# The options of each model that is imported. The embeddings are tied where an option does not say otherwise.
IMPORTED = {
    "tied all": "",
    "tied target": "--tied-embeddings",
    "tied sources": "--tied-embeddings-src",
    "untied": "--untied",
    "two vocabularies": "--tied-embeddings",
    "list of words": "",
    "list cut by dim-vocabs": "",
    "byte fallback": "",
    "relu": "--transformer-ffn-activation relu",
    "gelu": "--transformer-ffn-activation gelu",
    "norms before": f"{PRE} --transformer-postprocess-top n",
    "norms before, no top": PRE,
    "one head": "--transformer-heads 1",
    "deep encoder": "--enc-depth 3 --dec-depth 1",
    "narrow decoder": "--transformer-decoder-dim-ffn 48",
    "tied layers": "--dec-depth 4 --transformer-tied-layers 1 1 2 2",
    "tied layers, crossed": "--dec-depth 3 --transformer-tied-layers 2 1 2",
    "no projection": "--transformer-no-projection",
    "no output bias": "--output-omit-bias",
    "ssru": SSRU,
    "ssru, norms before": f"{SSRU} {PRE} --transformer-postprocess-top n",
    "ssru, gelu, no projection": f"{SSRU} --transformer-ffn-activation gelu --transformer-no-projection",
    "tied ssru": f"{SSRU} --transformer-tied-layers 1 1",
    "depth scaling": "--transformer-depth-scaling",
    "smoothed": "--label-smoothing 0.1 --exponential-smoothing 0.001 --transformer-dropout 0.1",
    # These do nothing in a model of type transformer.
    "trained positions": "--transformer-train-position-embeddings",
    "no bias": "--transformer-no-bias",
    "no affine": "--transformer-no-affine",
    "layer normalisation": "--layer-normalization",
}
# The models that are refused, with a word of the message.
REFUSED = {
    "s2s": ("--type s2s --dim-rnn 32", "type"),
    "transformer-new": ("--type transformer-new", "type"),
    "right to left": ("--right-left", "right-left"),
    "average attention": (AAN, "average-attention"),
    "gru": ("--transformer-decoder-autoreg rnn --dec-cell gru", "dec-cell"),
    "ssru with a projection": (f"{SSRU} --transformer-rnn-projection", "rnn-projection"),
    "norms before and after": ("--transformer-preprocess n", "transformer-preprocess"),
    "norms after, and a top": ("--transformer-postprocess-top n", "transformer-postprocess-top"),
    "no norms": ("--transformer-postprocess da", "transformer-postprocess"),
    "norm of embeddings": ("--transformer-postprocess-emb dn", "transformer-postprocess-emb"),
    "shallow feed-forward": ("--transformer-ffn-depth 1", "transformer-ffn-depth"),
    "deep feed-forward": ("--transformer-ffn-depth 3", "transformer-ffn-depth"),
    "no positions": ("--transformer-disable-position-embeddings", "transformer-disable-position-embeddings"),
    "pool": ("--transformer-pool", "transformer-pool"),
}
# Decoder options of the five searches.
SEARCHES = {
    "greedy": {"beam-size": 1, "normalize": 0},
    "beam 4": {"beam-size": 4, "normalize": 0.6},
    "beam 12": {"beam-size": 12, "normalize": 0},
    "short": {"beam-size": 6, "normalize": 1, "max-length-factor": 0.7, "word-penalty": 0.3},
    "bonus": {"beam-size": 5, "normalize": 0, "max-length-factor": 1.3, "word-penalty": -0.8},
}
# The options of the models of `--tiny`.
OF_LETTERS = {
    "gelu": """--transformer-ffn-activation gelu --dec-depth 3 --transformer-tied-layers 2 1 2 --transformer-no-projection
        --transformer-decoder-dim-ffn 10""",
    "norms before": f"{PRE} --transformer-postprocess-top n",
    "norms before, no top": PRE,
    "ssru": f"{SSRU} --tied-embeddings",
}


def marian(*arguments, **more):
    return subprocess.run([sys.executable, "-m", "pymarian", *map(str, arguments)], check=True, text=True, **more)


class Vocabulary:
    """The ids of a text, as Marian has them."""

    def __init__(self, path, size):
        self.path, self.size, self.model = path, size, None
        if path.suffix == ".spm":
            self.model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        else:
            # The base loader leaves tokens such as "1" and "No" as texts.
            ids = yaml.load(path.read_text(), yaml.BaseLoader)
            self.ids = {token: int(i) for token, i in ids.items() if not size or int(i) < size}

    def encode(self, text):
        return self.model.encode(text) if self.model else [self.ids.get(word, 1) for word in text.split(" ") if word]

    def id(self, token):
        return self.model.piece_to_id(token) if self.model else self.ids[token]


def vocabularies(name, text):
    """The vocabularies of a model, their sizes, and options for a training that makes them."""
    work = text[0].parent
    if name.startswith("list") or work.name == "letters":
        words = work / "words.yml"
        if not words.exists():
            both = "".join(path.read_text() for path in text)
            words.write_text(marian("vocab", input=both, capture_output=True).stdout)
        return [words, words], [300 if "cut" in name else 0] * 2, []
    if name == "two vocabularies":
        return [work / "source.spm", work / "target.spm"], [400, 300], []
    if name == "byte fallback":
        return [work / "bytes.spm"] * 2, [400, 400], ["--sentencepiece-options", "--byte_fallback=true"]
    return [work / "joint.spm"] * 2, [500, 500], []


def training(options):
    """The options of a training. Of an option that is given twice, the last counts."""
    chosen = {}
    for word in ["--type", "transformer", *TRAINING, *options.split()]:
        if word.startswith("--"):
            name, chosen[word] = word, []
        else:
            chosen[name].append(word)
    is_untied = "--untied" in chosen
    chosen.pop("--untied", None)
    if not is_untied and not any(name.startswith("--tied-embeddings") for name in chosen):
        chosen["--tied-embeddings-all"] = []
    return [word for name, values in chosen.items() for word in [name, *values]]


def search(model, options, vocabs, sentences):
    """Decoder options and Marian's n-best lists: ids and scores."""
    # Without sizes, Marian reads rows behind the end of the embeddings for tokens that training left out. A batch has one
    # sentence, because Marian's length limit is of the longest sentence of a batch.
    done = marian("decode", "-m", model, "--vocabs", *(v.path for v in vocabs), "--dim-vocabs", *(v.size for v in vocabs),
                  *(word for key, value in options.items() for word in (f"--{key}", value)), "--mini-batch", 1,
                  "--cpu-threads", 1, "--workspace", 128, "--n-best", "--no-spm-decode", "--quiet",
                  input="".join(f"{sentence}\n" for sentence in sentences), capture_output=True)
    found = [[] for _ in sentences]
    for line in done.stdout.splitlines():
        number, tokens, _, score = line.split(" ||| ")
        ids = [vocabs[1].id(token) for token in tokens.split(" ") if token]
        found[int(number)].append({"ids": ids, "score": float(score)})
    return {"options": options, "found": found}


def make(out, name, options, word, text, sentences):
    """Trains the model `name`, translates `sentences`, and writes what a test needs. Returns the folder's name."""
    folder = out / name.replace(" ", "_").replace(",", "")
    folder.mkdir(exist_ok=True)
    model = folder / "model.npz"
    paths, sizes, more = vocabularies(name, text)
    if not model.exists():
        with open(out / "train.log", "w") as log:
            marian("train", *training(options), *more, "-t", *text, "-m", model, "--vocabs", *paths, "--dim-vocabs", *sizes,
                   stdout=log, stderr=log)
    for path in set(paths):
        if not (folder / path.name).exists():
            shutil.copy(path, folder)
    expected = {"refused": word, "vocabs": [path.name for path in paths]}
    if not word:
        vocabs = [Vocabulary(path, size) for path, size in zip(paths, sizes)]
        expected["sources"] = [vocabs[0].encode(sentence) for sentence in sentences]
        expected["searches"] = {key: search(model, SEARCHES[key], vocabs, sentences) for key in SEARCHES}
    (folder / "expected.json").write_text(json.dumps(expected) + "\n")
    print(name, flush=True)
    return folder.name


def letters(line):
    """The letters of a line as words."""
    return " ".join(line.replace(" ", "_"))


def main(out, *text, tiny):
    out = pathlib.Path(out).resolve()
    work = out / ("letters" if tiny else "text")
    work.mkdir(parents=True, exist_ok=True)
    sides = [pathlib.Path(path).read_text().split("\n") for path in text]
    count, kept = (4, 2000) if tiny else (40, 8000)
    step = (len(sides[0]) - kept) // count
    form = letters if tiny else str
    text = [work / "source.txt", work / "target.txt"]
    for path, lines in zip(text, sides):
        path.write_text("".join(f"{form(line)}\n" for line in lines[:kept]))
    sentences = [form(line) for line in sides[0][kept::step][:count]]
    if tiny:
        models = [(name, f"{TINY} {options}", None) for name, options in OF_LETTERS.items()]
    else:
        models = [(name, options, None) for name, options in IMPORTED.items()]
        models += [(name, options, word) for name, (options, word) in REFUSED.items()]
    index = [[name, make(out, name, options, word, text, sentences)] for name, options, word in models]
    (out / "models.json").write_text(json.dumps(index) + "\n")


main(*(argument for argument in sys.argv[1:] if argument != "--tiny"), tiny="--tiny" in sys.argv)
