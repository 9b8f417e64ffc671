// The words of the pages: every language has the same ones, and the pages use them all.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const page = new URL("../page/", import.meta.url);
const read = (name) => readFileSync(new URL(name, page), "utf8");
const languages = readdirSync(page).filter((name) => /^words\.\w+\.json$/.test(name));
const words = Object.fromEntries(languages.map((name) => [name, JSON.parse(read(name))]));

test("every language has the same words with the same gaps", () => {
  const gaps = (text) => (text.match(/\{\w+\}/g) ?? []).sort();
  const english = words["words.en.json"];
  assert.ok(languages.length > 1);
  for (const name of languages) {
    assert.deepEqual(Object.keys(words[name]).sort(), Object.keys(english).sort(), name);
    for (const [key, text] of Object.entries(words[name])) assert.deepEqual(gaps(text), gaps(english[key]), `${name}: ${key}`);
  }
});

test("the pages use every word", () => {
  const source = readdirSync(page).filter((name) => /\.(js|html)$/.test(name)).map(read).join("\n");
  // Some names are put together: `gpu-` and the row of a table, `expected-` and a part.
  const made = [...source.matchAll(/`(\w+-)\$\{/g)].map(([, start]) => start);
  const isUsed = (key) => source.includes(`"${key}"`) || new RegExp(`\\b${key}:`).test(source) || made.some((start) => key.startsWith(start));
  assert.deepEqual(Object.keys(words["words.en.json"]).filter((key) => !isUsed(key)), []);
});

/** The words of the pages in Korean, as a page has them. */
async function korean() {
  globalThis.location = { search: "?lang=ko" };
  Object.defineProperty(globalThis, "navigator", { value: { languages: [] }, configurable: true });
  globalThis.fetch = async (address) => ({ json: async () => JSON.parse(readFileSync(address, "utf8")) });
  return import("../page/words.js");
}

test("Korean particles follow the last sound of the word before them", async () => {
  const { word } = await korean();
  const looks = (query, key, weight) => word("looks", { query, key, weight });
  assert.equal(looks("·집", "·나무", "0.123"), "“·집”이 “·나무”를 가중치 0.123으로 봅니다");
  assert.equal(looks("·개", "·산", "0.5"), "“·개”가 “·산”을 가중치 0.5로 봅니다");
  // 1, 7 and 8 end in ㄹ, after which 로 stands.
  assert.match(looks("x", "y", "0.998"), /0\.998로/);
  for (const [name, text] of Object.entries(words["words.ko.json"])) {
    const shown = word(name, Object.fromEntries([...text.matchAll(/\{(\w+)\}/g)].map(([, key]) => [key, "집"])));
    assert.doesNotMatch(shown, /을\(를\)|은\(는\)|이\(가\)|과\(와\)|으로\(로\)/, name);
  }
});

test("errors are sentences of the page's language", async () => {
  await korean();
  const { explained, isFatal } = await import("../page/errors.js");
  assert.match(explained(new Error("the sentence has 0 tokens; give 1 to 59")), /입력이 비어 있습니다/);
  assert.match(explained(new Error("the sentence has 300 tokens; give 1 to 59")), /300개.*59개/);
  assert.match(explained(new TypeError("Failed to fetch")), /네트워크가 없습니다/);
  assert.match(explained(new Error('x: a model "rnn"; open a Transformer')), /“rnn”/);
  assert.match(explained(new Error("model/config.json: no such file")), /^model\/config\.json 파일이 없거나/);
  assert.match(explained(new Error("something else")), /something else/);
  assert.ok(isFatal(new Error("panicked at src/paper.rs")) && !isFatal(new Error("the sentence has 0 tokens")));
});
