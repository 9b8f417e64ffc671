"""Fine-tunes the small model of `fixtures/m2m100/relu` with transformers in float64, and prints its losses.

    pip install torch transformers safetensors sentencepiece && python m2m100_training.py

Each of ten updates is of all pairs, by Adam without dropout and clipping. The printed numbers are in
`crates/cli/tests/it/interop/fine_tuning.rs`. Seen with torch 2.15 and transformers 5.24.
"""

import pathlib

import torch
import transformers
from transformers.models.m2m_100.tokenization_m2m_100 import M2M100Tokenizer

FOLDER = pathlib.Path(__file__).parent / "fixtures/m2m100/relu"
PAIRS = [
    ("the house is small and red", "la maison est petite"),
    ("a dog runs in the garden", "le chien court dans le jardin"),
    ("the house is small", "la maison est petite et rouge"),
]
SMOOTHING = 0.1
RATE = 1e-2


def main():
    torch.set_num_threads(1)
    config = transformers.AutoConfig.from_pretrained(FOLDER)
    config.dropout = config.attention_dropout = config.activation_dropout = 0.0
    config.encoder_layerdrop = config.decoder_layerdrop = 0.0
    model = transformers.M2M100ForConditionalGeneration.from_pretrained(FOLDER, config=config).double().train()
    tokenizer = M2M100Tokenizer(str(FOLDER / "vocab.json"), str(FOLDER / "sentencepiece.bpe.model"), src_lang="en", tgt_lang="fr")
    batch = tokenizer([a for a, _ in PAIRS], text_target=[b for _, b in PAIRS], return_tensors="pt", padding=True)
    labels = batch["labels"].masked_fill(batch["labels"] == tokenizer.pad_token_id, -100)
    # The decoder begins with `</s>`, and the first label is the token of the target language.
    start = torch.full((len(PAIRS), 1), model.config.decoder_start_token_id)
    inputs = torch.cat([start, batch["labels"][:, :-1]], dim=1)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, betas=(0.9, 0.98), eps=1e-9)
    losses = []
    for _ in range(10):
        logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], decoder_input_ids=inputs).logits
        flat = logits.flatten(0, 1), labels.flatten()
        loss = torch.nn.functional.cross_entropy(*flat, label_smoothing=SMOOTHING)
        nll = torch.nn.functional.cross_entropy(*flat)
        losses.append((round(loss.item(), 7), round(nll.item(), 7)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(losses)


main()
