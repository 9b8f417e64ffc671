#!/usr/bin/env bash
# CTranslate2 4.8.5 (PyPI), converter of Marian's models: it writes other positions and another GELU than
# Marian 1.12.42 (PyPI's pymarian) computes with.
#
# Expected: the probabilities of Marian.
# Seen: other probabilities, for two reasons. Marian's frequencies are 10000^(-i / (d/2 - 1)), and the
#       converter writes 10000^(-i / (d/2)). Marian's GELU is the exact one, x * Phi(x), and the converter
#       writes x * sigmoid(1.702 x). With Marian's of both in their place, the probabilities are Marian's.
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh" ctranslate2==4.8.5
for i in $(seq 300); do echo "a b c d $((i % 10)) $((i % 7)) $((i % 3)) e f g"; done > text
train model.npz text text --transformer-ffn-activation gelu --after-batches 100
head -n 3 text > input
$marian score $common --model model.npz --train-sets input input > scores
venv/bin/python - <<'PYTHON'
import ctranslate2
import numpy
import ctranslate2.converters.marian as converter

# `marian-ctranslate2-options.sh` shows why: the options of the model with one zero at their end.
model = dict(numpy.load("model.npz"))
name = "special:model.yml"
options = bytes(model[name]).rstrip(b"\0") + b"\0"
numpy.savez("model.npz", **{**model, name: numpy.frombuffer(options, numpy.int8)})

lines = [line.split() for line in open("input")]
expected = [float(score) for score in open("scores")]
activations = converter._SUPPORTED_ACTIVATIONS
encodings = "_make_sinusoidal_position_encodings"
as_converted = (getattr(converter, encodings), activations["gelu"])
assert activations["gelu"] == converter.common_spec.Activation.GELUSigmoid


def of_marian(dim, num_positions=2048):
    steps = numpy.exp(-numpy.log(10000.0) * numpy.arange(dim // 2) / (dim // 2 - 1))
    angles = numpy.arange(num_positions)[:, None] * steps
    return numpy.concatenate([numpy.sin(angles), numpy.cos(angles)], axis=1)


def difference(name, positions, gelu):
    setattr(converter, encodings, positions)
    activations["gelu"] = gelu
    converter.MarianConverter("model.npz", ["vocab.yml", "vocab.yml"]).convert(name, force=True)
    found = ctranslate2.Translator(name, compute_type="float32").score_batch(lines, lines)
    return max(abs(sum(f.log_probs) - e) for f, e in zip(found, expected))


positions, gelu = as_converted
exact = converter.common_spec.Activation.GELU
print(f"ctranslate2 {ctranslate2.__version__} differs from Marian by")
print(f"  {(converted := difference('converted', positions, gelu)):.6f} as converted,")
print(f"  {(moved := difference('moved', of_marian, gelu)):.6f} with Marian's positions alone,")
print(f"  {(curved := difference('curved', positions, exact)):.6f} with Marian's GELU alone,")
print(f"  {(corrected := difference('corrected', of_marian, exact)):.6f} with both.")
assert converted > 0.01 and moved > 0.001 and curved > 0.01 and corrected < 0.0005
PYTHON
