// Axe finds nothing on the pages: at four widths, light and dark, in every language. `BURNFORMER_AXE` names a folder with
// `node_modules` of `npm install axe-core`; without it this says so and passes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { BROWSERS, found, inChromium } from "./browsers.mjs";

const installed = process.env.BURNFORMER_AXE;
const chromium = found(BROWSERS.Chromium.programs);
const skip = !installed ? "BURNFORMER_AXE names no folder" : chromium ? false : "no Chromium in PATH";
const WIDTHS = [390, 768, 1280, 1920];

/** What makes a page show everything, as an expression that ends when it does. */
const OPENED = {
  "index.html": `new Promise((resolve) => {
    const look = () => (document.getElementById("progress").hidden ? resolve() : setTimeout(look, 50));
    look();
  })`,
  "paper.html": `new Promise((resolve) => {
    document.querySelectorAll("details").forEach((it) => (it.open = true));
    document.getElementById("start").click();
    document.getElementById("measure").click();
    const isDrawn = () => document.getElementById("drawn").textContent && document.querySelector("#costs tr") && document.querySelector("#lesson-maps figure");
    const look = () => (isDrawn() ? (document.getElementById("start").click(), resolve()) : setTimeout(look, 50));
    look();
  })`,
};

for (const [page, opened] of Object.entries(OPENED)) {
  for (const [language, isDark] of [["en", false], ["en", true], ["ko", false], ["ko", true]]) {
    test(`axe finds nothing in ${page}, ${language}, ${isDark ? "dark" : "light"}`, { skip }, async () => {
      const axe = readFileSync(join(installed, "node_modules/axe-core/axe.min.js"), "utf8");
      const query = page === "paper.html" ? "&task=binding&off=cross.0.0&tour=5" : "";
      await inChromium(chromium, `${page}?lang=${language}${query}`, async ({ call, evaluate }) => {
        await evaluate(`new Promise((resolve) => {
          const isReady = () => document.getElementById("status").textContent && !document.getElementById("seen")?.hidden;
          const look = () => (isReady() ? resolve() : setTimeout(look, 50));
          look();
        })`);
        await evaluate(opened);
        await evaluate(`${axe}; 0`);
        for (const width of WIDTHS) {
          await call("Emulation.setDeviceMetricsOverride", { width, height: 900, deviceScaleFactor: 1, mobile: false });
          const violations = await evaluate(`axe.run(document, { resultTypes: ["violations"] })
            .then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html.slice(0, 100)).join(" ")))`);
          assert.deepEqual(violations, [], `${width} pixels`);
        }
      }, { isDark });
    });
  }
}
