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
