// Documents, the language of a text, and shortlists: what the package writes is what the program writes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { brotliCompressSync } from "node:zlib";

import { Translator, address, files, folder, native, program, seal, temporary } from "./common.mjs";

const translator = await Translator.load(address("de-en"), { workers: 2 });
after(() => translator.close());

const [first, second, third] = native("de-en", 3).map(({ source }) => source);
const HTML = `<!doctype html><html lang="de"><head><title>Das Haus</title><script>let a = "Haus";</script></head>
<body class=x><h1>Guten Morgen!</h1><p>${first} <b>${second}</b> ${third}</p>
<ul><li>Das <a href="https://example.org/?a=1&amp;b=2">rote Haus</a> ist <em>klein</em>.<li>Der Preis beträgt 1.234,56 Euro.</ul>
<pre>Das bleibt.</pre><img src=a.png alt="Ein Hund"></body></html>`;
const DOCUMENTS = {
  txt: `${first} ${second}\n\n  - ${third}\n`,
  html: HTML,
  md: `---\ntitle: Haus\n---\n# Guten Morgen!\n\nDas **Haus** ist [klein](https://example.org).\n\n\`\`\`\nlet a;\n\`\`\`\n\n| Hund | Katze |\n|---|---|\n| Der Hund schläft. | Die Katze auch. |\n`,
  srt: `1\n00:00:01,000 --> 00:00:02,500\n<i>${first}</i>\n\n2\n00:00:03,000 --> 00:00:04,000\n${second}\n`,
  ass: `[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\nDialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\\i1}${first}{\\i0}\n`,
  po: `msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "Das Haus ist klein."\nmsgstr ""\n\nmsgid "Ich habe %d Hunde."\nmsgstr ""\n`,
  json: `{\n  "a": "Das Haus ist klein.",\n  "b": {"c": "Guten Morgen, {name}!"}\n}\n`,
  yaml: `de:\n  a: "Das Haus ist klein."\n  b: Guten Morgen!\n`,
  properties: `a = Das Haus ist klein.\n`,
};

/** The formats whose names are not the extensions of their files. */
const NAMES = { txt: "text", md: "markdown" };

/** What the program makes of a document. */
const written = (extension, content) => program(["translate", "--model", "embedded:de-en", "--format", NAMES[extension] ?? extension], content);

for (const [extension, content] of Object.entries(DOCUMENTS)) {
  test(`a document .${extension} is the program's, byte for byte`, async () => {
    const expected = written(extension, content);
    assert.equal(await translator.translateDocument(content, extension), expected);
    const bytes = await translator.translateDocument(new TextEncoder().encode(content), extension);
    assert.equal(new TextDecoder().decode(bytes), expected);
    assert.notEqual(expected, content);
  });
}

test("a file has the format of its name, and progress counts its sentences", async () => {
  const seen = [];
  const given = new File([HTML], "page.HTML");
  const bytes = await translator.translateDocument(given, undefined, { progress: (done, total) => seen.push([done, total]) });
  assert.equal(new TextDecoder().decode(bytes), written("html", HTML));
  assert.deepEqual(seen.map(([done]) => done), seen.map((_, i) => i + 1));
  assert.equal(seen.at(-1)[0], seen.at(-1)[1]);
});

test("documents at the same time do not mix", async () => {
  const all = Object.entries(DOCUMENTS);
  const found = await Promise.all(all.map(([extension, content]) => translator.translateDocument(content, extension)));
  for (const [i, [extension, content]] of all.entries()) assert.equal(found[i], written(extension, content));
});

test("marks at the beginning, empty texts and lone surrogates stay texts", async () => {
  assert.equal(await translator.translateDocument("", "html"), "");
  assert.equal(await translator.translateDocument("\ufeffDas Haus ist klein.\r\n", "text"), "\ufeffThe house is small.\r\n");
  assert.match(await translator.translateDocument("<p>\ud800 Haus</p>", "html"), /^<p>.*<\/p>$/);
});

test("an aborted document ends, and its options are those of a text", async () => {
  const control = new AbortController();
  const long = `${HTML}\n`.repeat(50);
  const waiting = translator.translateDocument(long, "html", { signal: control.signal, progress: () => control.abort() });
  await assert.rejects(waiting, { name: "AbortError" });
  await assert.rejects(translator.translateDocument("Haus", "text", { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(translator.translateDocument("Haus", "text", { beem_size: 2 }), /beem_size/);
  const termed = await translator.translateDocument("<p>Das <b>Haus</b>.</p>", "html", { glossary: { Haus: "hut" } });
  assert.match(termed, /<b>[^<]*hut/);
});

test("what is no document is rejected with a sentence, and the next one is translated", async () => {
  const deep = 20_000;
  for (const [document, format, message] of [
    ["a", "quux", /no document format `quux`.*docx/s],
    [new File(["a"], "noname"), undefined, /format/],
    [new File(["a"], "a.exe"), undefined, /exe/],
    [7, "text", /give a string/],
    [null, "text", /give a string/],
    [undefined, undefined, /format/],
    [{}, "html", /give a string/],
    ["a", 7, /format: 7/],
    [new Uint8Array([0xff, 0xfe, 0x00]), "html", /UTF-8/],
    [new Uint8Array([0x50, 0x4b, 3, 4, 0, 0]), "docx", /archive/],
    [new Uint8Array(0), "xlsx", /archive/],
    ["{\"a\": ", "json", /./],
    ["msgid \"a", "po", /./],
    ["<xliff", "xliff", /./],
    [{ byteLength: 2 ** 40 }, "text", /bytes/],
  ]) {
    await assert.rejects(translator.translateDocument(document, format), (error) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /unreachable|out of bounds|panicked|has ended/);
      return true;
    });
  }
  for (const [document, format] of [
    ["<b>".repeat(deep) + "Haus", "html"],
    ["[".repeat(deep), "markdown"],
    ["> ".repeat(deep) + "Haus", "markdown"],
    ["[".repeat(deep), "json"],
    ["&".repeat(deep), "html"],
    ["\u0000".repeat(deep), "srt"],
  ]) {
    const said = await translator.translateDocument(document, format, { truncate: true }).then(() => "", (error) => error.message);
    assert.doesNotMatch(said, /unreachable|out of bounds|panicked|stack|has ended/, format);
  }
  assert.equal(await translator.translateDocument("<p>Das Haus ist klein.</p>", "html"), "<p>The house is small.</p>");
});

test("the language of a text is told", async () => {
  const language = async (text, languages) => (await translator.detect(text, languages))?.language ?? null;
  assert.equal(await language("Der alte Mann wohnt am Meer und fischt jeden Tag."), "de");
  assert.equal(await language("Good morning!"), "en");
  assert.equal(await language("Le vieil homme vit au bord de la mer et pêche tous les jours avec son fils."), "fr");
  assert.equal(await language("Guten Morgen!", ["de", "en", "fr"]), "de");
  assert.equal(await language("<p class='the of and'>Der alte Mann wohnt am Meer.</p>"), "de");
  for (const none of ["", "12345 !?", "https://example.org/the/house"]) assert.equal(await translator.detect(none), null);
  const { confidence } = await translator.detect("Старик живёт у моря и каждый день ловит рыбу.", []);
  assert.ok(confidence > 0.5 && confidence <= 1, `${confidence}`);
  for (const [text, languages] of [[7], [null], ["a", "de"], ["a", [7]], ["a", 7]]) await assert.rejects(translator.detect(text, languages), TypeError);
  for (const text of ["\ud800", "a".repeat(1e6), "`".repeat(1e5), "<code>".repeat(1e5)]) await translator.detect(text);
});

test("a shortlist in the folder holds unless it is not wanted", async () => {
  const corpus = new URL("../../../assets/corpus/tatoeba-de-en/", import.meta.url);
  const sides = ["de", "en"].map((code) => new URL(`train.${code}.zst`, corpus).pathname);
  const path = join(temporary(), "shortlist.safetensors");
  program(["shortlist", "--train", ...sides, "--out", path, "--first", "0", "--best", "1"]);
  const bytes = new Uint8Array(readFileSync(path));
  const sources = native("de-en", 50).map(({ source }) => source);
  const tokens = (all) => all.map(({ tokens }) => String(tokens));
  const listed = await Translator.load(seal(files().set("shortlist.safetensors", bytes)), { name: "de-en" });
  const corpusText = new URL("test.de.zst", corpus).pathname;
  const lines = program(["translate", "--model", "embedded:de-en", "--shortlist", path, "--input", corpusText, "--json"]).split("\n");
  const expected = lines.slice(0, 50).map((line) => String(JSON.parse(line).tokens));
  const found = tokens(await listed.translate(sources));
  const differ = (a, b) => a.filter((it, i) => it !== b[i]).length;
  assert.ok(differ(found, expected) <= 1, `${differ(found, expected)} of 50`);
  const all = tokens(await listed.translate(sources, { shortlist: false }));
  assert.ok(differ(all, found) > 5, "so short a list changes translations");
  assert.deepEqual(all, tokens(await translator.translate(sources)));
  listed.close();
  for (const damage of [(it) => it.slice(0, it.length / 2), () => new Uint8Array(), (it) => it.map(() => 0xff)]) {
    await assert.rejects(Translator.load(seal(files().set("shortlist.safetensors", damage(bytes))), { name: "de-en" }), /shortlist/);
  }
});

test("the module for documents is loaded only when it is needed", (t) => {
  const size = (name) => brotliCompressSync(readFileSync(join(folder, name))).length;
  t.diagnostic(`documents and languages: ${size("burnformer_documents_bg.wasm")} bytes by brotli`);
  assert.ok(!readFileSync(join(folder, "methods.js"), "utf8").includes("from \"./burnformer_documents.js\""));
});

test("a text is divided into the sentences of a document", async () => {
  const text = "\ufeff1. 😀 Das ist Dr. Müller! Er kommt um z. B. 8 Uhr.\r\n\r\nEs ist spät.";
  const sentences = (await translator.sentences(text)).map(([begin, end]) => text.slice(begin, end));
  const translated = [];
  await translator.translateDocument(text, "text", { onSentences: (some) => translated.push(...some) });
  assert.deepEqual(sentences, ["😀 Das ist Dr. Müller!", "Er kommt um z. B. 8 Uhr.", "Es ist spät."]);
  assert.deepEqual(translated.slice(0, 3), sentences);
  assert.deepEqual(await translator.sentences(" \n "), []);
  await assert.rejects(translator.sentences(3), { code: "ERR_ARGUMENT" });
  await assert.rejects(translator.sentences("Ja.", { beem: 2 }), { code: "ERR_ARGUMENT" });
});
