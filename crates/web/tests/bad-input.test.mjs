// Bad input on both pages, in each language: every fault is a sentence of the page's language, what was shown before is gone,
// and the next try works.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { BROWSERS, found, give, inChromium, until } from "./browsers.mjs";
import { configured, files, folder, remade, seal, temporary, tensors, written } from "./common.mjs";

const chromium = found(BROWSERS.Chromium.programs);
const skip = chromium ? false : "no Chromium in PATH";
const words = Object.fromEntries(["en", "ko"].map((code) => [code, JSON.parse(readFileSync(join(folder, `words.${code}.json`), "utf8"))]));
const bytes = (text) => new TextEncoder().encode(text);

/** Models that are none, with the word that says so. */
const MODELS = {
  "half a model": ["error-broken", () => {
    const all = files();
    all.delete("model.safetensors");
    return all;
  }],
  "half a file": ["error-broken", () => {
    const all = files();
    return all.set("model.safetensors", all.get("model.safetensors").slice(0, 1000));
  }],
  "the folder of another program": ["error-folder", () => new Map([
    ["config.json", bytes('{"model_type": "marian", "d_model": 512}')], ["pytorch_model.bin", bytes("PK")], ["vocab.json", bytes("{}")],
  ])],
  "a folder of texts": ["error-folder", () => new Map([["notes.txt", bytes("Haus")]])],
  "another architecture": ["error-version", () => {
    const all = files();
    const config = JSON.parse(new TextDecoder().decode(all.get("config.json")));
    return seal(all.set("config.json", bytes(JSON.stringify({ ...config, arch: "no such" }))));
  }],
  "sizes that no page has memory for": ["error-large", () => configured(files(), { d_model: 2 ** 31 })],
  "weights of another model": ["error-mixed", () => configured(files(), { encoder_layers: 2 })],
  "weights that are no numbers": ["error-broken", () => {
    const all = files();
    const parts = tensors(all);
    [...parts.all.values()].find(({ dtype }) => dtype === "F32").data.fill(0xff);
    return remade(all, parts, {});
  }],
};

/** Sentences of the translating page, and files: what is given, and the word that the status then has; null if it is no fault. */
const TEXTS = { nothing: ["", null], "10,000 characters": ["Haus ".repeat(2000), null], "another script": ["안녕하세요. 오늘은 날씨가 좋습니다.", null], "half a character": ["Haus \ud83d ist", null] };
const FILES = {
  "notes.mp3": ["x", "error-format"], "no extension": ["x", "error-nameless"], "broken.docx": ["PK", "error-archive"], "empty.docx": ["", "error-archive"],
  "broken.po": ["msgid", "error-document"], "broken.json": ["{", "error-document"], "empty.txt": ["", null],
};
/** Sentences of the paper's page. */
const SENTENCES = { nothing: ["", "error-empty"], "10,000 characters": ["Haus ".repeat(2000), "error-long"], "another script": ["안녕하세요", null] };

/** Whether a text is what a word says in a language, with any values in its gaps. */
function says(text, language, name) {
  const pattern = words[language][name].replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{\w+\}(을\\\(를\\\)|은\\\(는\\\)|이\\\(가\\\)|으로\\\(로\\\))?/g, ".*");
  return new RegExp(`^${pattern}$`, "s").test(text);
}

const STATUS = `document.getElementById("status").textContent`;
const isError = `document.getElementById("status").classList.contains("error")`;
const type = (id, text) => `(() => {
  const field = document.getElementById(${JSON.stringify(id)});
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event("input"));
})()`;
const take = (model) => `(() => {
  document.getElementById("model").value = ${JSON.stringify(model)};
  document.getElementById("model").dispatchEvent(new Event("change"));
})()`;

/** Each page: its field, what is gone after a fault, whether a translation is there, and texts with their words. */
const PAGES = {
  "index.html": {
    field: "source", texts: TEXTS, good: "Ich habe Hunger.",
    gone: `!document.getElementById("target").value`, there: `document.getElementById("target").value === "I'm hungry." && !${isError}`,
  },
  "paper.html": {
    field: "sentence", texts: SENTENCES, good: "Ich habe Hunger.",
    gone: `document.getElementById("seen").hidden && document.getElementById("figure").hidden`,
    there: `!document.getElementById("seen").hidden && document.getElementById("translation").textContent === "I'm hungry." && document.getElementById("drawn").textContent && !${isError}`,
  },
};

/** Types a good sentence, and waits until it is translated. */
async function works({ evaluate }, { field, good, there }) {
  await evaluate(type(field, good));
  await until(evaluate, there);
}

/** Waits for a fault, and looks at what the page says and shows. */
async function faulty({ evaluate }, { gone }, language, what, word) {
  await until(evaluate, isError);
  const text = await evaluate(STATUS);
  assert.ok(says(text, language, word), `${what}: ${text}`);
  assert.ok(await evaluate(gone), `${what}: something old stands`);
}

for (const language of Object.keys(words)) {
  for (const [name, page] of Object.entries(PAGES)) {
    test(`${name}, ${language}: bad texts and bad models`, { skip }, async () => {
      await inChromium(chromium, `${name}?lang=${language}`, async (session) => {
        const { evaluate } = session;
        await works(session, page);
        for (const [what, [text, word]] of Object.entries(page.texts)) {
          await evaluate(type(page.field, text));
          if (word) await faulty(session, page, language, what, word);
          else if (text) await until(evaluate, `!${isError} && !(${page.there}) && !(${page.gone})`);
          else await until(evaluate, `!${isError} && (${page.gone})`);
          await works(session, page);
        }
        for (const [what, [word, model]] of Object.entries(MODELS)) {
          // A sentence that was just typed does not take the error away.
          await evaluate(type(page.field, "Haus"));
          await give(session, "folder", written(model()));
          await faulty(session, page, language, what, word);
          await new Promise((resolve) => setTimeout(resolve, 600));
          assert.ok(await evaluate(isError), `${what}: the error has gone`);
          assert.equal(await evaluate(`document.getElementById("model").options.length`), 2, `${what} stays in the menu`);
          await evaluate(take("de-en"));
          await works(session, page);
        }
      });
    });
  }

  test(`index.html, ${language}: bad files`, { skip }, async () => {
    await inChromium(chromium, `index.html?lang=${language}`, async (session) => {
      const { evaluate } = session;
      await works(session, PAGES["index.html"]);
      for (const [file, [text, word]] of Object.entries(FILES)) {
        const path = join(temporary(), file);
        writeFileSync(path, text);
        // A sentence that was just typed ends neither the file nor what is said of it.
        await evaluate(type("source", "Haus"));
        await give(session, "file", path);
        if (word) {
          await until(evaluate, isError);
          const said = await evaluate(STATUS);
          assert.ok(said.startsWith(`${file}: `) && says(said.slice(file.length + 2), language, word), `${file}: ${said}`);
          assert.ok(await evaluate(`document.getElementById("save").hidden`), `${file}: an old file is offered`);
        } else await until(evaluate, `${STATUS} === ${JSON.stringify(words[language]["file-empty"].replace("{name}", file))}`);
        const said = await evaluate(STATUS);
        await new Promise((resolve) => setTimeout(resolve, 600));
        assert.equal(await evaluate(STATUS), said, `${file}: what was said has gone`);
        await works(session, PAGES["index.html"]);
      }
    });
  });

  for (const [name, page] of Object.entries(PAGES)) {
    test(`${name}, ${language}: a model that was never loaded, without a network`, { skip }, async () => {
      await inChromium(chromium, `${name}?lang=${language}`, async (session) => {
        const { call, evaluate } = session;
        await works(session, page);
        const offline = (isOffline) => call("Network.emulateNetworkConditions", { offline: isOffline, latency: 0, downloadThroughput: -1, uploadThroughput: -1 });
        await call("Network.enable");
        await offline(true);
        await evaluate(take("en-de"));
        await faulty(session, page, language, "no network", "error-network");
        await evaluate(take("de-en"));
        await works(session, page);
        await offline(false);
        await evaluate(take("en-de"));
        await evaluate(type(page.field, "I am hungry."));
        await until(evaluate, `!${isError} && !(${page.gone}) && /Hunger/.test(document.body.textContent + document.getElementById("target")?.value)`);
      });
    });

    test(`${name}, ${language}: no memory`, { skip }, async () => {
      let isLimited = true;
      const change = (path, content) => (isLimited && path.endsWith("_bg.wasm") ? limited(content, 64) : content);
      await inChromium(chromium, `${name}?lang=${language}`, async (session) => {
        await faulty(session, page, language, "no memory", "error-memory");
        isLimited = false;
        await session.evaluate(take("de-en"));
        await works(session, page);
      }, { change });
    });
  }
}

test("paper.html: a link whose values are all wrong opens the page as it is", { skip }, async () => {
  const wrong = {
    sentence: "", model: "nope", beam: "abc", alpha: "1e999", temperature: "-5", side: "9", kind: "x", piece: "999", layer: "99", head: "99", sublayer: "99", step: "999", tour: "99",
    off: "encoder.9.9,cross.0.99,<b>,", task: "none", d_model: "99", heads: "-1", layers: "", warmup: "NaN", smoothing: "2", norm: "x", mask: "maybe",
  };
  await inChromium(chromium, `paper.html?lang=xx&${new URLSearchParams(wrong)}`, async (session) => {
    await until(session.evaluate, `${STATUS}.startsWith("Seconds")`);
    await works(session, PAGES["paper.html"]);
    const values = await session.evaluate(`["beam", "alpha", "temperature", "smoothing", "heads"].map((id) => Number(document.getElementById(id).value))`);
    assert.deepEqual(values, [4, 0.6, 0.2, 0.3, 0]);
    assert.ok(await session.evaluate(`document.getElementById("tour").hidden && !document.getElementById("before").textContent`));
  });
});

/** The module with a memory that can grow by `more` pages of 64 KiB alone. */
function limited(wasm, more) {
  let at = 8;
  const number = () => {
    let [value, shift] = [0, 0];
    for (let byte; ; shift += 7) {
      byte = wasm[at++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
  };
  const written = (value) => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...written(value >>> 7)]);
  while (at < wasm.length) {
    const start = at;
    const [section, size] = [wasm[at++], number()];
    const end = at + size;
    if (section === 5) {
      // One memory: a flag that says whether there is a maximum, and the minimum.
      at += 2;
      const least = number();
      const body = [1, 1, ...written(least), ...written(least + more)];
      return Buffer.concat([wasm.subarray(0, start), Buffer.from([5, ...written(body.length), ...body]), wasm.subarray(end)]);
    }
    at = end;
  }
  throw new Error("the module has no memory");
}
