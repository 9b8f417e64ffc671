#!/usr/bin/env bash
# transformers 5.24.0 (PyPI): the `repetition_penalty` of a greedy search acts on outputs before the
# softmax, so that a constant added to all of them, which changes no probability, changes the
# translation. In a beam search it acts on log-probabilities, and the constant changes nothing.
#
# Expected: the translation depends on the probabilities alone, with any number of beams.
# Seen: with one beam, other translations from a constant of 20 on; with four, the same.
#
# The script fails if that changes. It downloads PyTorch (3 GB).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --no-cache-dir torch==2.15.0 transformers==5.24.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - 2>/dev/null <<'PYTHON'
import torch
import transformers

transformers.logging.set_verbosity_error()
torch.manual_seed(3)
config = transformers.MarianConfig(
    vocab_size=24, d_model=16, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
    decoder_attention_heads=2, encoder_ffn_dim=16, decoder_ffn_dim=16, pad_token_id=23,
    decoder_start_token_id=23, max_position_embeddings=64, init_std=0.5, tie_word_embeddings=False,
)
model = transformers.MarianMTModel(config).eval()
sources = [torch.tensor([[n, n + 7, n + 3, 0]]) for n in range(1, 13)]


def translations(beams, penalty, constant):
    model.final_logits_bias.fill_(constant)
    settings = dict(num_beams=beams, repetition_penalty=penalty, max_length=12, bad_words_ids=[[23]])
    return [model.generate(source, **settings)[0].tolist() for source in sources]


print("transformers", transformers.__version__)
for beams in [1, 4]:
    for penalty in [1.0, 1.3]:
        plain = translations(beams, penalty, 0.0)
        shifted = translations(beams, penalty, 20.0)
        same = sum(a == b for a, b in zip(plain, shifted))
        print(f"beams {beams}, penalty {penalty}: {same} of 12 translations are the same with a constant of 20")
        if penalty == 1.0 or beams == 4:
            assert same == 12, (plain, shifted)
        else:
            assert same < 9, (plain, shifted)
PYTHON
