// The paper's module in Node: what it shows is what it computes, and its training is the program's.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { files, folder, native, seal } from "./common.mjs";

const open = (name) => import(pathToFileURL(join(folder, name)));
const { default: init, Files, Lesson, Paper } = await open("burnformer_paper.js");
const { path, treeOf } = await open("beam.js");
const { binder, bindings } = await open("binding.js");
const { EXAMPLES, GREEDY_LOSES, PRONOUNS } = await open("examples.js");
await init({ module_or_path: readFileSync(join(folder, "burnformer_paper_bg.wasm")) });

function paper(all = files(), name = "de-en") {
  const given = new Files(name);
  all.forEach((bytes, file) => given.add(file, bytes));
  return new Paper(given);
}

const question = (changed = {}) => JSON.stringify({ search: {}, off: {}, temperature: 1, ...changed });

const choices = (changed = {}) => {
  const { schedule, text, longest, ...model } = changed;
  return JSON.stringify({
    model: {
      source_vocab: 14, target_vocab: 14, d_model: 64, heads: 4, d_k: 16, d_v: 16, d_ff: 256, encoder_layers: 2,
      decoder_layers: 2, dropout: 0, attention_dropout: 0, activation_dropout: 0, norm: "post", layer_norm_eps: 1e-5,
      activation: "relu", positions: "sinusoidal", max_positions: 1024, attention_window: null, sharing: "all",
      pad: 0, bos: 1, eos: 2, ...model,
    },
    schedule: schedule ?? { warmup: 200, factor: 0.5 }, label_smoothing: 0.1, seed: 1, batch: 64, longest: longest ?? 8,
    mask: true, scale: true, positions: true, text: text ?? [],
  });
};

test("trees end in the program's translations", () => {
  const seen = paper();
  const expected = native("de-en", 20, ["--compute", "float32"]).filter(({ source }) => source.length < 80);
  const same = expected.filter(({ source, tokens, translation }) => {
    const found = JSON.parse(seen.see(source, question()));
    const tree = treeOf(found);
    const ends = tree.flat().filter(({ state }) => state === "finished").sort((a, b) => b.score - a.score);
    assert.ok(Math.abs(ends[0].score - found.score) < 1e-5, source);
    assert.ok(ends[0].isBest, source);
    assert.equal(path(ends[0]), found.text, source);
    for (const column of tree.slice(1)) assert.ok(column.length <= 8);
    return String(found.tokens) === String(tokens) && found.text === translation;
  });
  assert.ok(same.length >= expected.length - 1, `${same.length} of ${expected.length}`);
});

test("a head looks from the pronoun of each example at its noun", () => {
  for (const [name, { example, from, to }] of Object.entries(PRONOUNS)) {
    const { source, tables } = JSON.parse(paper(files(name), name).see(EXAMPLES[name][example], question()));
    const [query, key] = [from, to].map((piece) => source.indexOf(piece.replace("·", "▁")));
    const weights = tables.encoder.flat().map((table) => table[query * source.length + key] / 1000);
    assert.ok(query > key && key >= 0 && Math.max(...weights) > 0.5, `${name}: ${Math.max(...weights)}`);
  }
});

test("greedy search loses the example that the page promises, in each model", () => {
  for (const [name, all] of Object.entries(EXAMPLES)) {
    const seen = paper(files(name), name);
    // By the log-probability alone, whatever the length penalty is.
    const ask = (beam_size, gnmt) => JSON.parse(seen.see(all[GREEDY_LOSES], question({ search: { beam_size, length_penalty: { gnmt } } })));
    const logProb = ({ score, divisors, tokens }) => score * divisors[tokens.length - 1];
    const [greedy, ...beams] = [ask(1, 0.6), ask(4, 0.6), ask(4, 0)];
    for (const beam of beams) assert.ok(logProb(beam) > logProb(greedy) + 0.05 && beam.text !== greedy.text, `${greedy.text} ${beam.text}`);
  }
});

test("a question or a model that is wrong is an error with a sentence, and the next is answered", () => {
  const seen = paper();
  assert.throws(() => seen.see("", question()), /0 tokens/);
  assert.throws(() => seen.see("Haus", question({ search: { beam_size: 0 } })), /beam_size/);
  assert.throws(() => seen.see("Haus", "{}"), /search/);
  assert.throws(() => new Lesson(choices({ heads: 0 })), /heads is 0/);
  assert.throws(() => new Lesson("{}"), /model/);
  const all = files();
  const config = JSON.parse(new TextDecoder().decode(all.get("config.json")));
  config.arch = "rnn";
  all.set("config.json", new TextEncoder().encode(JSON.stringify(config)));
  assert.throws(() => paper(seal(all)), /de-en/);
  assert.match(JSON.parse(seen.see("Haus", question())).text, /./);
});

test("the losses of fifty updates are the program's", async (t) => {
  const written = JSON.parse(readFileSync(new URL("losses.json", import.meta.url), "utf8"));
  const found = JSON.parse(await new Lesson(choices()).update(50)).map(({ loss }) => loss);
  assert.equal(found.length, written.length);
  const apart = Math.max(...found.map((loss, i) => Math.abs(loss - written[i])));
  t.diagnostic(`largest difference ${apart.toExponential(1)}`);
  assert.ok(apart < 1e-4, `${apart}`);
});

test("digits are reversed", async (t) => {
  const [lesson, start] = [new Lesson(choices()), performance.now()];
  const most = Number(process.env.BURNFORMER_UPDATES ?? 400);
  let judged = { right: 0 };
  while (judged.right < 0.99 && (judged.step ?? 0) < most) {
    await lesson.update(50);
    judged = JSON.parse(lesson.judge());
  }
  t.diagnostic(`${judged.step} updates, ${((performance.now() - start) / 1000).toFixed(1)} s: ${judged.right}`);
  assert.ok(judged.right > 0.8, `${judged.right}`);
});

test("a head binds a pronoun to the noun that it stands for", async (t) => {
  const numbers = new Map();
  const number = (word) => numbers.set(word, numbers.get(word) ?? 4 + numbers.size).get(word);
  const places = bindings();
  const text = places.map(({ source, target }) => [source.map(number), target.map(number)]);
  const vocab = 4 + numbers.size;
  const changed = { source_vocab: vocab, target_vocab: vocab, encoder_layers: 1, decoder_layers: 1, max_positions: 64, text, longest: 11 };
  const [lesson, start] = [new Lesson(choices(changed)), performance.now()];
  let [judged, bound] = [{ right: 0, step: 0 }, { weight: 0, rest: 0 }];
  while ((judged.right < 0.95 || bound.weight - bound.rest < 0.4) && judged.step < 600) {
    await lesson.update(50);
    judged = JSON.parse(lesson.judge());
    bound = binder(judged.tables.encoder, judged.source.length, places[0]);
    t.diagnostic(`${judged.step} updates, ${((performance.now() - start) / 1000).toFixed(1)} s: ${judged.right} right, layer ${bound.layer + 1}, head ${bound.head + 1}, ${bound.query} → ${bound.keys}: ${bound.weight}, other ${bound.rest}`);
  }
  assert.ok(judged.right >= 0.95, `${judged.right} are right`);
  assert.ok(bound.weight - bound.rest >= 0.4, `${bound.weight} against ${bound.rest}`);
});

test("the joined heads times W_O are what attention adds, and log-probabilities are the search's", () => {
  const seen = paper();
  const found = JSON.parse(seen.see("Das kleine Haus steht am See.", question()));
  const scored = seen.score("Das kleine Haus steht am See.", Uint32Array.from(found.tokens), "{}");
  const total = scored.reduce((sum, value) => sum + value, 0);
  assert.ok(Math.abs(total / found.divisors[found.tokens.length - 1] - found.score) < 1e-4);
  const keys = found.source.length;
  const joined = found.tables.cross[0].flatMap((weights, head) => {
    const values = found.tables.projections.cross[0][2][head];
    const width = values.length / keys;
    return Array.from({ length: width }, (_, i) => Array.from({ length: keys }, (_, k) => weights[k] * values[k * width + i]).reduce((a, b) => a + b) / 1e6);
  });
  const [matrix, bias] = ["weight", "bias"].map((part) => seen.parameter(`decoder.layers.0.cross_attention.output.${part}`));
  const output = found.tables.residuals[1][1][1][0];
  output.forEach((value, row) => {
    const sum = joined.reduce((sum, it, i) => sum + it * matrix[row * joined.length + i], bias[row]);
    assert.ok(Math.abs(sum - value / 1000) < 0.1, `${row}: ${sum}, ${value / 1000}`);
  });
  assert.throws(() => seen.parameter("no.such"), /the model has no parameter no\.such/);
});
