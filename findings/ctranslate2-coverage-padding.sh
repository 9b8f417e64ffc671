#!/usr/bin/env bash
# CTranslate2 4.8.5 (PyPI): `coverage_penalty` and the other sentences of a batch.
#
# Expected: a sentence has one score and one translation, whatever is translated with it.
# Seen: with a longer sentence in its batch, its score falls by tens, and another hypothesis may win. The
#       penalty adds log(attention) for each position of the source, and positions of padding have an
#       attention that is tiny but not 0. Without the penalty the scores agree.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip --quiet --disable-pip-version-check install ctranslate2==4.8.5 numpy==2.4.6
venv/bin/python - <<'PYTHON'
import os

import ctranslate2
import numpy
from ctranslate2.specs import transformer_spec

WORDS = ["<unk>", "<s>", "</s>"] + [f"w{number}" for number in range(9)]
WIDTH, INNER, LIMIT = 16, 32, 6


def save_model(seed, folder):
    """A model with one layer a side and random weights."""
    random = numpy.random.default_rng(seed)

    def draw(*shape):
        return random.normal(0, 0.8, shape).astype(numpy.float32)

    def linear(spec, rows, columns):
        spec.weight, spec.bias = draw(rows, columns), numpy.zeros(rows, numpy.float32)

    def norm(spec):
        spec.gamma, spec.beta = numpy.ones(WIDTH, numpy.float32), numpy.zeros(WIDTH, numpy.float32)

    spec = transformer_spec.TransformerSpec.from_config((1, 1), 2, pre_norm=False)
    for side in (spec.encoder, spec.decoder):
        embeddings = side.embeddings
        embeddings = embeddings[0] if isinstance(embeddings, list) else embeddings
        embeddings.weight = draw(len(WORDS), WIDTH)
        side.scale_embeddings = False
        side.position_encodings.encodings = draw(64, WIDTH) / 3
        for layer in side.layer:
            linear(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
            linear(layer.self_attention.linear[1], WIDTH, WIDTH)
            norm(layer.self_attention.layer_norm)
            if side is spec.decoder:
                for part, rows in zip(layer.attention.linear, (WIDTH, 2 * WIDTH, WIDTH)):
                    linear(part, rows, WIDTH)
                norm(layer.attention.layer_norm)
            linear(layer.ffn.linear_0, INNER, WIDTH)
            linear(layer.ffn.linear_1, WIDTH, INNER)
            norm(layer.ffn.layer_norm)
    linear(spec.decoder.projection, len(WORDS), WIDTH)
    spec.register_source_vocabulary(WORDS)
    spec.register_target_vocabulary(WORDS)
    spec.config.add_source_eos = True
    os.makedirs(folder)
    spec.validate()
    spec.save(folder)


largest, others = {0: 0, 1: 0}, 0
for seed in range(20):
    save_model(seed, f"model{seed}")
    translator = ctranslate2.Translator(f"model{seed}")
    random = numpy.random.default_rng(1000 + seed)
    short, long = ([WORDS[3 + word] for word in random.integers(0, 9, count)] for count in (3, 12))
    for penalty in largest:
        options = dict(beam_size=4, max_decoding_length=LIMIT, coverage_penalty=penalty)
        alone, batched = (
            translator.translate_batch(batch, return_scores=True, **options)[0]
            for batch in ([short], [short, long])
        )
        difference = abs(alone.scores[0] - batched.scores[0])
        largest[penalty] = max(largest[penalty], difference)
        others += alone.hypotheses != batched.hypotheses
for penalty, difference in largest.items():
    print(f"coverage_penalty={penalty}: scores differ by up to {difference:.6f}")
print(f"ctranslate2 {ctranslate2.__version__}: {others} of 20 translations are others")
assert largest[0] < 1e-3 and largest[1] > 1
PYTHON
