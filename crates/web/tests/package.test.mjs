// The package in Node: the same translations as the program, its options, size and speed.

import assert from "node:assert/strict";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { Translator, address, files, folder, native, program, temporary } from "./common.mjs";

// Node 20 has relaxed SIMD behind this flag. Without it, the package takes the other module.
setFlagsFromString("--experimental-wasm-relaxed-simd");

const COUNT = 500;
/** Bytes of what a page fetches, compressed as servers of static files do. */
const SIZE = 1_500_000;
const expected = native("de-en", COUNT);
const sources = expected.map(({ source }) => source);
const translator = await Translator.load(address("de-en"));
after(() => translator.close());

test("the module is small enough for a page", (t) => {
  for (const module of ["burnformer_web_bg.wasm", "burnformer_relaxed_bg.wasm"]) {
    const parts = [module, "burnformer_web.js", "index.js", "failure.js", "files.js", "platform.js", "methods.js", "worker.js"];
    const all = Buffer.concat(parts.map((name) => readFileSync(join(folder, name))));
    const [gzip, brotli] = [gzipSync(all, { level: 9 }), brotliCompressSync(all)].map((it) => it.length);
    t.diagnostic(`${module}, bytes: ${all.length}, gzip ${gzip}, brotli ${brotli}`);
    assert.ok(brotli <= SIZE, `${brotli} bytes`);
  }
});

/** Translates the sentences and compares them with the program's; says how fast `translator` is. */
async function compareWithProgram(t, translator) {
  const start = performance.now();
  const found = await translator.translate(sources);
  const seconds = (performance.now() - start) / 1000;
  const wrong = found.filter(({ tokens }, i) => String(tokens) !== String(expected[i].tokens));
  const words = sources.reduce((sum, source) => sum + source.split(" ").length, 0);
  t.diagnostic(`${words} words in ${seconds.toFixed(2)} s, one thread: ${(words / seconds).toFixed(0)} a second`);
  t.diagnostic(`other tokens than the program: ${wrong.length} of ${COUNT}`);
  assert.equal(wrong.length, 0, JSON.stringify(wrong.map(({ text }) => text)));
  found.forEach(({ text, score, confidence, doubts }, i) => {
    assert.equal(text, expected[i].translation);
    assert.ok(Math.abs(score - expected[i].score) < 1e-6, `${score} ${expected[i].score}`);
    assert.ok(Math.abs(confidence - expected[i].confidence) < 1e-6);
    assert.deepEqual(doubts, expected[i].doubts);
  });
}

test("sentences have the tokens of the program", (t) => compareWithProgram(t, translator));

test("the module without relaxed SIMD has them too", async (t) => {
  const copy = temporary();
  cpSync(folder, copy, { recursive: true, filter: (path) => !path.startsWith(join(folder, "models")) });
  cpSync(join(folder, "burnformer_web_bg.wasm"), join(copy, "burnformer_relaxed_bg.wasm"));
  const { Translator: Other } = await import(pathToFileURL(join(copy, "node.js")));
  const other = await Other.load(address("de-en"));
  await compareWithProgram(t, other);
  other.close();
});

test("float32 has the texts of the program", async (t) => {
  const float = await Translator.load(files("de-en"), { name: "de-en", compute: "float32" });
  const expected = native("de-en", 100, ["--compute", "float32"]);
  const found = await float.translate(expected.map(({ source }) => source));
  float.close();
  const most = Math.max(...found.map(({ score }, i) => Math.abs(score - expected[i].score)));
  t.diagnostic(`largest difference of a score: ${most}`);
  assert.deepEqual(found.map(({ text }) => text), expected.map(({ translation }) => translation));
  assert.ok(most < 1e-4);
});

test("a folder handle is a model, whose loading is watched and can be given up", async () => {
  const all = files("de-en");
  const handle = {
    kind: "directory", name: "de-en",
    async *values() {
      yield { kind: "directory", name: "notes" };
      for (const [name, bytes] of all) yield { kind: "file", name, getFile: async () => new Blob([bytes]) };
    },
  };
  const seen = [];
  const loaded = await Translator.load(handle, { progress: (done, total) => seen.push([done, total]) });
  const { text } = await loaded.translate(sources[0]);
  loaded.close();
  assert.equal(text, expected[0].translation);
  const total = [...all.values()].reduce((sum, bytes) => sum + bytes.length, 0);
  assert.deepEqual(seen.at(-1), [total, total]);
  assert.ok(seen.length === all.size && seen.every(([done], i) => i === 0 || done > seen[i - 1][0]));
  const controller = new AbortController();
  const stopped = Translator.load(handle, { signal: controller.signal, progress: () => controller.abort() });
  await assert.rejects(stopped, { name: "AbortError" });
});

test("greedy search and the other direction are the program's", async () => {
  const expected = native("en-de", 50, ["--beam", "1"]);
  const other = await Translator.load(address("en-de"));
  const found = await other.translate(expected.map(({ source }) => source), { beam_size: 1 });
  other.close();
  const wrong = found.filter(({ tokens }, i) => String(tokens) !== String(expected[i].tokens));
  assert.equal(wrong.length, 0, JSON.stringify(wrong.map(({ text }) => text)));
});

test("several workers give the same results in the same order", async () => {
  const several = await Translator.load(address("de-en"), { workers: 2 });
  const part = sources.slice(0, 60);
  const seen = [];
  const found = await several.translate(part, { onResult: (index, { text }) => (seen[index] = text) });
  several.close();
  const texts = found.map(({ text }) => text);
  assert.deepEqual(texts, (await translator.translate(part)).map(({ text }) => text));
  assert.deepEqual(seen, texts);
});

test("one text gives one result, with what is asked for", async () => {
  const text = "Das Haus ist klein.";
  const result = await translator.translate(text, { n_best: 3, alignment: true });
  assert.equal(result.alternatives.length, 3);
  assert.equal(result.text, result.alternatives[0].text);
  const words = result.alignment.map(([source, target]) => [text.slice(...source), result.text.slice(...target)]);
  assert.ok(words.some(([source, target]) => source.includes("Haus") && target.includes("house")), JSON.stringify(words));
  const outside = await translator.translate("Ein 👩 und ein 한.", { alignment: true });
  outside.alignment.forEach(([source, target]) => {
    for (const [[start, end], text] of [[source, "Ein 👩 und ein 한."], [target, outside.text]]) {
      assert.ok(start <= end && text.slice(start, end).isWellFormed(), `${start} ${end}`);
    }
  });
  const { text: termed } = await translator.translate("Das Haus ist klein.", { glossary: { Haus: "hut" } });
  assert.match(termed, /hut/);
  assert.equal((await translator.translate("")).text, "");
  assert.deepEqual(await translator.translate([]), []);
});

test("wrong options are rejected by name, and the translator goes on", async () => {
  const document = (options) => translator.translateDocument("Das ist ein Haus.", "text", options);
  for (const [options, message] of [
    [{ beem_size: 2 }, /beem_size/],
    [{ beam_size: 0 }, /beam_size/],
    [{ beam_size: 1e9 }, /beam_size/],
    [{ longest: -1 }, /-1/],
    [{ glossary: { "": "x" } }, /./],
    [{ target_language: "fr" }, /language/],
  ]) {
    await assert.rejects(translator.translate("Das ist ein Haus.", options), { message, code: "ERR_ARGUMENT" });
    await assert.rejects(document(options), { message, code: "ERR_ARGUMENT" });
  }
  assert.equal((await translator.translate("Hallo!")).finish, "end-of-sentence");
});

test("each error has a code and a sentence", async () => {
  const model = address("de-en");
  const damaged = files("de-en");
  damaged.delete("config.json");
  const large = new Uint8Array((1 << 26) + 1);
  for (const [failing, code, message] of [
    [() => translator.translate(undefined), "ERR_ARGUMENT", /text: undefined; give a string/],
    [() => translator.translate(7), "ERR_ARGUMENT", /7/],
    [() => translator.translate(["a", null]), "ERR_ARGUMENT", /null/],
    [() => translator.translate("Das ist ein Haus.", { longest: 2 }), "ERR_TEXT", /token/],
    [() => translator.translateDocument(undefined, "html"), "ERR_ARGUMENT", /document: give a string/],
    [() => translator.translateDocument("Haus", 7), "ERR_ARGUMENT", /format: 7/],
    [() => translator.translateDocument("Haus", "mp3"), "ERR_DOCUMENT", /mp3/],
    [() => translator.translateDocument("msgid", "po"), "ERR_DOCUMENT", /./],
    [() => translator.translateDocument(large, "html"), "ERR_DOCUMENT", /67108865/],
    [() => translator.detect(null), "ERR_ARGUMENT", /text: null/],
    [() => translator.detect("Haus", "de,en"), "ERR_ARGUMENT", /languages/],
    [() => Translator.load(), "ERR_ARGUMENT", /source: give an address/],
    [() => Translator.load("models/de-en"), "ERR_ARGUMENT", /pathToFileURL/],
    [() => Translator.load(model, { worker: 2 }), "ERR_ARGUMENT", /worker: no such option/],
    [() => Translator.load(model, { workers: 0 }), "ERR_ARGUMENT", /workers/],
    [() => Translator.load(model, { compute: "int4" }), "ERR_ARGUMENT", /int4/],
    [() => Translator.load({ "config.json": 7 }), "ERR_ARGUMENT", /config.json: give its bytes/],
    [() => Translator.load(damaged), "ERR_MODEL", /config.json/],
    [() => Translator.load(new Map()), "ERR_MODEL", /manifest.json/],
    [() => Translator.load(new URL("no-such-model/", model)), "ERR_NETWORK", /no-such-model.*manifest.json/],
    [() => Translator.load("http://127.0.0.1:9/model"), "ERR_NETWORK", /127.0.0.1:9/],
  ]) {
    await assert.rejects(failing, { code, message });
  }
});

test("a translation can be left, and what comes after it is right", async () => {
  const controller = new AbortController();
  const onResult = () => controller.abort();
  const left = translator.translate(sources, { signal: controller.signal, onResult });
  await assert.rejects(left, { name: "AbortError" });
  const { text } = await translator.translate(sources[0]);
  assert.equal(text, expected[0].translation);
  const closed = await Translator.load(address("de-en"));
  const waiting = closed.translate(sources);
  closed.close();
  await assert.rejects(waiting, { code: "ERR_ENDED", message: /closed/ });
  await assert.rejects(closed.translate("a"), { code: "ERR_ENDED", message: /load it again/ });
});

test("strange texts are translated, not traps", async () => {
  const texts = [
    "\u0000", "\ufeff\u200b", "\ud800", "a".repeat(3000), "🏳️‍🌈".repeat(50), "١٢٣ 一二三", "\n\r\u2028", "<b>&amp;</b>", "A".repeat(40),
  ];
  const found = await translator.translate(texts, { truncate: true, max_length: 20 });
  assert.equal(found.length, texts.length);
});

test("speed beside the program, one thread each", async (t) => {
  const many = sources;
  const words = many.reduce((sum, source) => sum + source.split(" ").length, 0);
  const time = async (work) => {
    const start = performance.now();
    await work();
    return (performance.now() - start) / 1000;
  };
  const run = (text) => program(["translate", "--model", "embedded:de-en"], text);
  const started = await time(() => run("Hallo.\n"));
  const shares = [];
  for (const options of [{ beam_size: 1 }, {}]) {
    const beam = options.beam_size ? ["--beam", "1"] : [];
    const here = await time(() => translator.translate(many, options));
    const there = (await time(() => program(["translate", "--model", "embedded:de-en", ...beam], many.join("\n")))) - started;
    shares.push(there / here);
    const name = options.beam_size ? "greedy" : "beam 4";
    t.diagnostic(`${name}: ${(words / here).toFixed(0)} words a second; the program ${(words / there).toFixed(0)}; share ${(there / here).toFixed(2)}`);
  }
  assert.ok(Math.min(...shares) > 0.02, `${shares}`);
});
