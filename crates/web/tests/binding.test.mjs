// The page's own tasks and sentences: what they promise holds of every one of them.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { binder, bindings } from "../page/binding.js";
import { EXAMPLES, sentenceFor } from "../page/examples.js";

test("a pronoun has the gender of its noun and not of the other, and the target names its noun", () => {
  const articles = { er: ["der", "den"], es: ["das"], sie: ["die"] };
  const all = bindings();
  const texts = all.map(({ source }) => source.join(" "));
  const heldOut = new Set(texts.slice(0, 100));
  assert.ok(all.length > 1800 && texts.slice(100).every((text) => !heldOut.has(text)), `${all.length} pairs`);
  const names = new Map();
  for (const { source, target, pronoun, noun, other } of all) {
    assert.ok(articles[source[pronoun]].includes(source[noun - 1]), source.join(" "));
    assert.ok(!articles[source[pronoun]].includes(source[other - 1]), source.join(" "));
    assert.equal(target[7], target[noun === 1 ? 1 : 4], target.join(" "));
    names.set(source[noun], (names.get(source[noun]) ?? new Set()).add(target[7]));
  }
  assert.ok([...names.values()].every((translations) => translations.size === 1));
  assert.deepEqual(bindings(), all);
  const ends = all.filter(({ noun }) => noun === 4).length / all.length;
  assert.ok(ends > 0.45 && ends < 0.55, `${ends} of the pronouns stand for the object`);
});

test("the head that binds is the one whose weight goes to the noun and its article, not to the other", () => {
  const empty = Array(25).fill(0);
  const binding = [...Array(20).fill(0), 500, 375, 0, 125, 0];
  const found = binder([[empty, empty], [empty, binding]], 5, { pronoun: 4, noun: 1, other: 3 });
  assert.deepEqual(found, { layer: 1, head: 1, query: 4, keys: [0, 1], weight: 0.875, rest: 0.125 });
});

test("another model gets its own example, or the translation of the reader's sentence", () => {
  const [german, english] = [EXAMPLES["de-en"][1], EXAMPLES["en-de"][1]];
  assert.equal(sentenceFor("en-de", { sentence: german, before: "de-en", translation: "x" }), english);
  assert.equal(sentenceFor("en-de", { sentence: "Guten Tag.", before: "de-en", translation: "Good day." }), "Good day.");
  // Whatever the translation back is, and whether there is one yet.
  for (const translation of ["Schönen Tag.", ""]) {
    assert.equal(sentenceFor("de-en", { sentence: "Good day.", before: "en-de", translation }), "Guten Tag.");
    assert.equal(sentenceFor("en-de", { sentence: "Guten Tag.", before: "de-en", translation }), "Good day.");
  }
  assert.equal(sentenceFor("de-en", { sentence: "Good night.", before: "en-de", translation: "Gute Nacht." }), "Gute Nacht.");
  assert.equal(sentenceFor("en-de", { sentence: "Und jetzt?", before: "de-en", translation: "" }), "Und jetzt?");
  assert.equal(sentenceFor("model 1", { sentence: "Guten Tag.", before: "de-en", translation: "Good day." }), "Guten Tag.");
});

test("the page without a network has every file of the pages", () => {
  const page = new URL("../page/", import.meta.url);
  const kept = readFileSync(new URL("offline.js", page), "utf8");
  const files = readdirSync(page).filter((name) => name !== "offline.js");
  assert.deepEqual(files.filter((name) => !kept.includes(`"${name}"`)), []);
});
