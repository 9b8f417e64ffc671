#!/usr/bin/env bash
# transformers 5.24.0 (PyPI): a MarianMTModel with `share_encoder_decoder_embeddings` and without
# `tie_word_embeddings`, whose file has `model.shared.weight` and `lm_head.weight`, is read with
# random embeddings. transformers 4.57.6 writes such a file and reads it rightly.
#
# Expected, as by 4.57.6: both embeddings are `model.shared.weight`, and the model computes the same
# whenever it is read.
# Seen: other outputs each time, and exit status 0.
#
# The script fails if that changes. It downloads PyTorch (3 GB).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip"
"$pip" install --quiet --no-cache-dir torch==2.15.0 transformers==5.24.0 numpy==2.4.6
"$pip" install --quiet --no-deps --target "$folder/four" transformers==4.57.6 tokenizers==0.22.2 huggingface_hub==0.36.2
"$pip" install --quiet requests==2.34.2 pyyaml==6.0.4
cat > "$folder/outputs.py" <<'PYTHON'
import pathlib
import sys

import safetensors.torch
import torch
import transformers

transformers.logging.set_verbosity_error()
folder = pathlib.Path(sys.argv[1])
if not folder.exists():
    torch.manual_seed(0)
    config = transformers.MarianConfig(
        vocab_size=12, d_model=8, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=8, decoder_ffn_dim=8, pad_token_id=11,
        decoder_start_token_id=11, tie_word_embeddings=False, init_std=0.5,
    )
    transformers.MarianMTModel(config).save_pretrained(folder)
shared = safetensors.torch.load_file(folder / "model.safetensors")["model.shared.weight"]
model = transformers.MarianMTModel.from_pretrained(folder).eval()
with torch.no_grad():
    logits = model(input_ids=torch.tensor([[5, 0]]), decoder_input_ids=torch.tensor([[11]])).logits
is_shared = torch.equal(model.get_encoder().embed_tokens.weight, shared)
print(transformers.__version__, "embeddings of the file:", is_shared, [round(x, 4) for x in logits[0, 0, :4].tolist()])
PYTHON
run() { "$folder/venv/bin/python" -W ignore "$folder/outputs.py" "$folder/model" 2>/dev/null; }
four=$(PYTHONPATH="$folder/four" run)
again=$(PYTHONPATH="$folder/four" run)
five=$(run)
five_again=$(run)
printf '%s\n' "$four" "$again" "$five" "$five_again"
[[ $four == "4.57.6 embeddings of the file: True "* && $four == "$again" ]]
[[ $five == "5.24.0 embeddings of the file: False "* && $five != "$five_again" ]]
