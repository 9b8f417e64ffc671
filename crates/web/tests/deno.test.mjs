// The package in Deno, by the same file. Where there is no Deno this says so and passes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";

import { Translator, address, folder, temporary } from "./common.mjs";

const isThere = spawnSync("deno", ["--version"]).status === 0;

test("Deno translates as Node does, and ends", { skip: isThere ? false : "no Deno in PATH" }, async () => {
  const [text, page] = ["Das Haus ist klein.", "<p>Das <b>Haus</b> ist klein.</p>"];
  const script = join(temporary(), "script.mjs");
  writeFileSync(script, `import { Translator } from ${JSON.stringify(pathToFileURL(join(folder, "index.js")))};
    const translator = await Translator.load(new URL(${JSON.stringify(address("de-en"))}), { workers: 2 });
    const { text, score } = await translator.translate(${JSON.stringify(text)});
    const page = await translator.translateDocument(${JSON.stringify(page)}, "html");
    const { language } = await translator.detect(${JSON.stringify(text)});
    const wrong = await translator.translate("Haus", { beem_size: 2 }).catch(({ message }) => message);
    translator.close();
    console.log(JSON.stringify({ text, score, page, language, wrong }));`);
  const { stdout, stderr, status } = spawnSync("deno", ["run", "--allow-read", script], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  const found = JSON.parse(stdout);
  const here = await Translator.load(address("de-en"));
  const { text: expected, score } = await here.translate(text);
  assert.deepEqual([found.text, found.score], [expected, score]);
  assert.equal(found.page, await here.translateDocument(page, "html"));
  assert.equal(found.language, "de");
  assert.match(found.wrong, /beem_size/);
  here.close();
});
