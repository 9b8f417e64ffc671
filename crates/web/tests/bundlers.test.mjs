// The package in bundlers: each builds a page that translates. `BURNFORMER_BUNDLERS` names a folder with
// `node_modules` of `npm install vite webpack webpack-cli parcel esbuild rollup @rollup/plugin-node-resolve next react react-dom`;
// without it this says so and passes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";

import { BROWSERS, found, toldBy } from "./browsers.mjs";
import { folder } from "./common.mjs";

const PAGE = `<!doctype html><meta charset=utf-8><title>A page</title><script type=module src=./main.js></script>`;
const MAIN = `import { Translator } from "burnformer";

async function translated() {
  const translator = await Translator.load("/models/de-en");
  const { text } = await translator.translate("Das Haus ist klein.");
  return text;
}

translated().catch((error) => "error: " + error.message).then((body) => fetch("/told", { method: "POST", body }));
`;
/** A page of Next.js, which translates in the browser. */
const NEXT = `"use client";
import { useEffect } from "react";

export default function Page() {
  useEffect(() => void import("./main.js"), []);
  return null;
}
`;
const LAYOUT = `export default function Layout({ children }) { return <html lang="en"><body>{children}</body></html>; }\n`;
const WEBPACK = `module.exports = { mode: "production", entry: "./main.js", performance: { hints: false } };\n`;

/** Bundlers by their names: the arguments of npx in the folder of the app, and the folder that they write. */
const BUNDLERS = {
  vite: { args: ["vite", "build"], out: "dist" },
  webpack: {
    args: ["webpack"],
    out: "dist",
    prepare: (app) => writeFileSync(join(app, "webpack.config.cjs"), WEBPACK),
    finish: (out) => writeFileSync(join(out, "index.html"), PAGE),
  },
  // These two leave addresses as they are: the worker is an entry of its own, and modules are copied.
  esbuild: {
    args: ["esbuild", "main.js", "worker=burnformer/worker.js", "--bundle", "--splitting", "--format=esm", "--outdir=dist"],
    out: "dist",
    finish: copied,
  },
  rollup: {
    args: ["rollup", "main.js", "worker=burnformer/worker.js", "--plugin", "node-resolve", "--dir", "dist"],
    out: "dist",
    finish: copied,
  },
  parcel: { args: ["parcel", "build", "index.html", "--no-cache"], out: "dist" },
  next: {
    args: ["next", "build"],
    out: "out",
    prepare(app) {
      mkdirSync(join(app, "app"));
      writeFileSync(join(app, "next.config.mjs"), `export default { output: "export" };\n`);
      for (const [name, content] of Object.entries({ "page.jsx": NEXT, "layout.jsx": LAYOUT, "main.js": MAIN })) writeFileSync(join(app, "app", name), content);
    },
  },
};

/** Copies what the app needs besides its scripts to the folder `out`. */
function copied(out) {
  writeFileSync(join(out, "index.html"), PAGE);
  for (const name of ["web", "relaxed", "documents"].map((module) => `burnformer_${module}_bg.wasm`)) cpSync(join(folder, name), join(out, name));
}

const installed = process.env.BURNFORMER_BUNDLERS;
const chromium = found(BROWSERS.Chromium.programs);
const skip = !installed ? "BURNFORMER_BUNDLERS names no folder" : chromium ? false : "no Chromium in PATH";

/** An app in the folder of the bundlers, whose programs it finds there; it has the package as npm installs it. */
function newApp() {
  const path = mkdtempSync(join(installed, "app-"));
  after(() => rmSync(path, { recursive: true, force: true }));
  mkdirSync(join(path, "node_modules"));
  for (const [name, content] of Object.entries({ "index.html": PAGE, "main.js": MAIN })) writeFileSync(join(path, name), content);
  const description = { name: "app", private: true, type: "module", "@parcel/resolver-default": { packageExports: true } };
  writeFileSync(join(path, "package.json"), JSON.stringify(description));
  cpSync(folder, join(path, "node_modules/burnformer"), { recursive: true, filter: (file) => !file.startsWith(join(folder, "models")) });
  return path;
}

/** The file of the page in the folder `out`, or of a model, at a path. */
function fileAt(out, path) {
  return path.startsWith("/models/") ? join(folder, path) : join(out, path === "/" ? "index.html" : path);
}

for (const [name, { args, out, prepare, finish }] of Object.entries(BUNDLERS)) {
  test(`${name} builds a page that translates`, { skip }, async () => {
    const app = newApp();
    prepare?.(app);
    const built = spawnSync(join(installed, "node_modules/.bin", args[0]), args.slice(1), { cwd: app, encoding: "utf8" });
    assert.equal(built.status, 0, built.stdout + built.stderr);
    finish?.(join(app, out));
    assert.equal(await toldBy(chromium, BROWSERS.Chromium.opening, [{ fileAt: (path) => fileAt(join(app, out), path) }]), "The house is small.");
  });
}
