// Axe finds nothing on the pages: at four widths, light and dark, in every language. `BURNFORMER_AXE` names a folder with
// `node_modules` of `npm install axe-core`; without it this says so and passes.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { BROWSERS, found, inChromium, until } from "./browsers.mjs";
import { folder } from "./common.mjs";

const installed = process.env.BURNFORMER_AXE;
const chromium = found(BROWSERS.Chromium.programs);
const skip = !installed ? "BURNFORMER_AXE names no folder" : chromium ? false : "no Chromium in PATH";
const WIDTHS = [390, 768, 1280, 1920];

const at = (id) => `document.getElementById("${id}")`;

/** Types a text into a field of a page. */
const typed = (id, text) => `(${at(id)}.value = "${text}", ${at(id)}.dispatchEvent(new Event("input")))`;

/** The pages: the languages that each is written in, and what makes it show everything: expressions, and conditions to wait for. */
const PAGES = {
  "index.html": {
    languages: ["en", "ko"],
    steps: [[`${at("progress")}.hidden && ${at("status")}.textContent`, typed("source", "The house is small and the dog is sleeping.")], [`${at("notice")}.textContent`]],
  },
  "paper.html": {
    languages: ["en", "ko"],
    query: "&task=binding&off=cross.0.0&tour=5",
    steps: [
      [`${at("status")}.textContent && !${at("seen")}.hidden`, `document.querySelectorAll("details").forEach((it) => (it.open = true))`],
      ["true", `${at("start")}.click()`],
      ["true", `${at("measure")}.click()`],
      [`${at("drawn")}.textContent && document.querySelector("#costs tr") && document.querySelector("#lesson-maps figure")`, `${at("start")}.click()`],
    ],
  },
  "the paper's page with an error": {
    languages: ["en", "ko"],
    path: "paper.html",
    steps: [[`!${at("seen")}.hidden`, typed("sentence", "")], [`${at("status")}.classList.contains("error")`]],
  },
  "the server's page": {
    languages: ["en"],
    isServed: true,
    steps: [
      [`${at("about")}.textContent`, typed("source-text", "Guten Morgen! Das Haus ist klein.")],
      [`document.querySelectorAll(".result .sentence").length === 2`, `document.querySelector(".result .sentence").click()`],
      [`document.querySelectorAll("#alternatives li").length`, `document.querySelectorAll("details").forEach((it) => (it.open = true))`],
    ],
  },
};

/** What axe finds in a page that shows everything, at every width. */
async function violations({ call, evaluate }, steps) {
  for (const [condition, expression] of steps) {
    await until(evaluate, condition);
    if (expression) await evaluate(`${expression}; 0`);
  }
  await evaluate(`${readFileSync(join(installed, "node_modules/axe-core/axe.min.js"), "utf8")}; 0`);
  const all = [];
  for (const width of WIDTHS) {
    await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
    const found = await evaluate(`axe.run(document, { resultTypes: ["violations"] })
      .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 100)).join(" ")))`);
    all.push(...found.map((it) => `${width} pixels: ${it}`));
  }
  return all;
}

/** Starts the program's server, with the pages, and answers it with its address. */
async function served() {
  const server = spawn(process.env.BURNFORMER, ["serve", "--listen", "0", "--paper", folder], { stdio: ["ignore", "pipe", "ignore"] });
  const [text] = await once(server.stdout.setEncoding("utf8"), "data");
  return { server, address: text.match(/http:\S+/)[0] };
}

for (const [page, { languages, path = page, query = "", isServed, steps }] of Object.entries(PAGES)) {
  for (const language of languages) {
    for (const isDark of [false, true]) {
      test(`axe finds nothing in ${page}, ${language}, ${isDark ? "dark" : "light"}`, { skip }, async () => {
        const { server, address } = isServed ? await served() : {};
        try {
          const found = await inChromium(chromium, address ?? `${path}?lang=${language}${query}`, (session) => violations(session, steps), { isDark });
          assert.deepEqual(found, []);
        } finally {
          server?.kill();
        }
      });
    }
  }
}
