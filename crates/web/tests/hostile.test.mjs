// Hostile models and calls: each kind of damage is a rejected promise with a sentence, and the next model loads.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { Translator, files, seal } from "./common.mjs";

const whole = await Translator.load(files(), { name: "de-en" });
after(() => whole.close());

const text = (bytes) => new TextDecoder().decode(bytes);
const bytes = (string) => new TextEncoder().encode(string);

/** Rejects the files after `change`, with the file's name in the message. */
async function rejected(name, change, pattern = /de-en/) {
  const all = files();
  change(all);
  await assert.rejects(Translator.load(all, { name: "de-en" }), (error) => {
    assert.match(error.message, pattern, name);
    assert.doesNotMatch(error.message, /unreachable|out of bounds|panicked/, name);
    return true;
  });
}

const damages = {
  missing: (all, name) => all.delete(name),
  empty: (all, name) => all.set(name, new Uint8Array()),
  truncated: (all, name) => all.set(name, all.get(name).slice(0, all.get(name).length / 2)),
  longer: (all, name) => all.set(name, new Uint8Array([...all.get(name).slice(0, 100), ...all.get(name)])),
  flipped: (all, name) => (all.get(name)[all.get(name).length >> 1] ^= 0x20),
};
const NAMES = ["manifest.json", "config.json", "model.safetensors", "tokenizer.json", "generation.json"];

for (const [kind, damage] of Object.entries(damages)) {
  test(`files that are ${kind} are noticed by size or hash`, async () => {
    for (const name of NAMES) {
      if (kind === "flipped" && name === "manifest.json") continue;
      await rejected(`${name} ${kind}`, (all) => damage(all, name));
    }
  });
  test(`files that are ${kind}, with a manifest that agrees, are noticed by their content`, async () => {
    for (const name of NAMES.slice(1, 4)) {
      if (kind === "flipped") continue;
      await rejected(`${name} ${kind}`, (all) => {
        damage(all, name);
        seal(all);
      });
    }
  });
}

test("sizes that no page has memory for are refused before memory is taken", async () => {
  for (const change of [
    { d_model: 1 << 30 }, { d_ff: 2 ** 40 }, { encoder_layers: 1e9 }, { heads: 0 }, { source_vocab: 2 ** 31 },
    { max_positions: 2 ** 53, positions: "learned" }, { d_k: 2 ** 62 },
  ]) {
    await rejected(JSON.stringify(change), (all) => {
      const config = JSON.parse(text(all.get("config.json")));
      Object.assign(config.model, change);
      seal(all.set("config.json", bytes(JSON.stringify(config))));
    });
  }
});

test("headers of tensors that claim other sizes are refused", async () => {
  const header = (all) => {
    const weights = all.get("model.safetensors");
    const length = Number(new DataView(weights.buffer, weights.byteOffset).getBigUint64(0, true));
    return [JSON.parse(text(weights.slice(8, 8 + length))), weights.slice(8 + length)];
  };
  const write = (all, json, data, length) => {
    const head = bytes(typeof json === "string" ? json : JSON.stringify(json));
    const whole = new Uint8Array(8 + head.length + data.length);
    new DataView(whole.buffer).setBigUint64(0, length ?? BigInt(head.length), true);
    whole.set(head, 8);
    whole.set(data, 8 + head.length);
    seal(all.set("model.safetensors", whole));
  };
  for (const length of [0n, 1n, 1n << 40n, (1n << 64n) - 1n]) {
    await rejected(`a header of ${length}`, (all) => write(all, ...header(all), length));
  }
  for (const damage of [
    (entry) => (entry.shape = [2 ** 53, 2 ** 53]),
    (entry) => (entry.shape = [entry.shape[0], 2 ** 40]),
    (entry) => (entry.data_offsets = [0, 2 ** 52]),
    (entry) => (entry.data_offsets = entry.data_offsets.toReversed?.() ?? [1, 0]),
    (entry) => (entry.shape = []),
    (entry) => (entry.dtype = "F64"),
    (entry) => (entry.dtype = "F32"),
  ]) {
    await rejected(damage.toString(), (all) => {
      const [json, data] = header(all);
      damage(Object.values(json).find((entry) => entry.dtype === "I8"));
      write(all, json, data);
    });
  }
  await rejected("deep", (all) => write(all, "[".repeat(100_000), header(all)[1]));
  await rejected("nan", (all) => {
    const [json, data] = header(all);
    const { data_offsets: [start, end] } = Object.values(json).find((entry) => entry.dtype === "F32");
    write(all, json, data.fill(0xff, start, end));
  });
});

test("tokenisers that are none are refused", async () => {
  const change = (json) => (all) => seal(all.set("tokenizer.json", bytes(json)));
  const tokenizer = () => JSON.parse(text(files().get("tokenizer.json")));
  for (const json of [
    "null", "[]", "{}", "[".repeat(100_000), "{\"a\":".repeat(100_000), "\u0000",
    JSON.stringify({ ...tokenizer(), model: { type: "BPE", vocab: {}, merges: [] } }),
    JSON.stringify({ ...tokenizer(), normalizer: { type: "Precompiled", precompiled_charsmap: "AAAA" } }),
    JSON.stringify({ ...tokenizer(), pre_tokenizer: { type: "Split", pattern: { Regex: "(" }, behavior: "Isolated", invert: false } }),
  ]) {
    await rejected(json.slice(0, 80), change(json), /de-en|tokeniser/);
  }
});

test("what is no model at all is refused, and the model from before still translates", async () => {
  for (const source of [{}, new Map(), [], null, undefined, 7, { "config.json": "text" }]) {
    await assert.rejects(Translator.load(source));
  }
  await assert.rejects(Translator.load("http://127.0.0.1:1/nothing"));
  await assert.rejects(Translator.load(new URL("file:///nothing")));
  assert.match((await whole.translate("Guten Tag!")).text, /\w/);
});

test("fifty hostile calls are rejected with a sentence or answered, and none is a trap", async () => {
  const numbers = [-1, 0, 0.5, 2 ** 31, 2 ** 53, 1e308, null, "7", [], {}, true];
  const names = [
    "beam_size", "n_best", "max_length", "max_length_factor", "max_length_extra", "min_length", "no_repeat_ngram", "longest", "length_penalty",
    "suppress", "sampling", "glossary", "alignment", "truncate", "source_language", "beam_rule", "calibration", "second_search",
  ];
  const texts = ["", "Haus", "\ud800", "a".repeat(20_000), "\u0000".repeat(500), "🏳️‍🌈".repeat(500)];
  let seed = 7;
  const one = (list) => list[(seed = (seed * 48271) % 2147483647) % list.length];
  const deep = (depth) => (depth ? { gnmt: deep(depth - 1) } : 1);
  const calls = Array.from({ length: 50 }, (_, i) => [one(texts), i % 10 === 9 ? { length_penalty: deep(500) } : { truncate: true, max_length: 8, [one(names)]: one(numbers) }]);
  for (const [text, options] of calls) {
    const said = await whole.translate(text, options).then(() => "", (error) => error.message);
    assert.doesNotMatch(said, /unreachable|out of bounds|panicked|overflow|has ended/, JSON.stringify(options));
  }
  assert.match((await whole.translate("Guten Tag!")).text, /\w/);
});
