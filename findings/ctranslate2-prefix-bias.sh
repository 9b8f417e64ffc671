#!/usr/bin/env bash
# CTranslate2 4.8.5 (PyPI): `prefix_bias_beta` in a beam search.
#
# Expected: while a hypothesis agrees with the prefix, its next token has the probability (1 - β)·p, and
#           β more if it is the one of the prefix (docs/decoding.md; Arivazhagan et al., 2020, section
#           4.2). A score is the sum of the logarithms, over the length.
# Seen: true of a greedy search. In a beam search, a hypothesis that leaves the prefix may keep the whole
#       p of its token: whether a hypothesis agrees is noted by its place in the beam, and stays there
#       when the beam is sorted anew. Its score is too high by log(1 - β), and it can win by that.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip --quiet --disable-pip-version-check install ctranslate2==4.8.5 numpy==2.4.6
venv/bin/python - <<'PYTHON'
import math
import os

import ctranslate2
import numpy
from ctranslate2.specs import transformer_spec

WORDS = ["<unk>", "<s>", "</s>"] + [f"w{number}" for number in range(9)]
WIDTH, INNER, LIMIT, BETA = 16, 32, 6, 0.5


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


def biased_score(translator, source, prefix, tokens):
    """The score by the formula, from the model's own probabilities of these tokens."""
    ended = tokens + ["</s>"] * (len(tokens) < LIMIT)
    log_probs = translator.score_batch([source], [tokens])[0].log_probs
    total = 0
    for index, (token, log_prob) in enumerate(zip(ended, log_probs)):
        p = math.exp(log_prob)
        if index < len(prefix) and ended[:index] == prefix[:index]:
            p = (1 - BETA) * p + BETA * (token == prefix[index])
        total += math.log(p)
    return total / len(ended)


counts = {1: [0, 0], 2: [0, 0], 4: [0, 0]}
for seed in range(60):
    save_model(seed, f"model{seed}")
    translator = ctranslate2.Translator(f"model{seed}")
    random = numpy.random.default_rng(1000 + seed)
    source, prefix = ([WORDS[3 + word] for word in random.integers(0, 9, 3)] for _ in range(2))
    for beam, count in counts.items():
        options = dict(beam_size=beam, return_scores=True, length_penalty=1)
        [result] = translator.translate_batch(
            [source], target_prefix=[prefix], prefix_bias_beta=BETA, min_decoding_length=0,
            max_decoding_length=LIMIT, **options,
        )
        tokens = result.hypotheses[0]
        expected = biased_score(translator, source, prefix, tokens)
        is_other = abs(result.scores[0] - expected) > 1e-3
        count[0] += 1
        count[1] += is_other
        if is_other and count[1] == 1:
            print("prefix", *prefix, "- best", *tokens)
            print(f"score {result.scores[0]:.4f}, by the formula {expected:.4f}")
for beam, (all, others) in counts.items():
    print(f"ctranslate2 {ctranslate2.__version__}, beam {beam}: {others} of {all} scores are others")
assert counts[1][1] == 0 and counts[2][1] > 0 and counts[4][1] > 0
PYTHON
