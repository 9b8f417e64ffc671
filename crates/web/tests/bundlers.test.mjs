// The package in bundlers: each builds a page that translates. `BURNFORMER_BUNDLERS` names a folder with
// `node_modules` of `npm install vite webpack webpack-cli parcel esbuild rollup @rollup/plugin-node-resolve`; without it this says so and passes.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join } from "node:path";
import { test } from "node:test";

import { folder, temporary } from "./common.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };
const PAGE = `<!doctype html><meta charset=utf-8><title>A page</title><script type=module src=./main.js></script>`;
const MAIN = `import { Translator } from "burnformer";

async function translated() {
  const translator = await Translator.load("/models/de-en");
  const { text } = await translator.translate("Das Haus ist klein.");
  return text;
}

translated().catch((error) => "error: " + error.message).then((body) => fetch("/told", { method: "POST", body }));
`;
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
};

/** Copies what the app needs besides its scripts to the folder `out`. */
function copied(out) {
  writeFileSync(join(out, "index.html"), PAGE);
  for (const name of ["burnformer_web_bg.wasm", "burnformer_documents_bg.wasm"]) cpSync(join(folder, name), join(out, name));
}

const installed = process.env.BURNFORMER_BUNDLERS;
const chromium = (process.env.PATH ?? "").split(delimiter)
  .flatMap((path) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(path, name))).find(existsSync);
const skip = !installed ? "BURNFORMER_BUNDLERS names no folder" : chromium ? false : "no Chromium in PATH";

/** An app that has the package as npm installs it. */
function appIn(path) {
  mkdirSync(join(path, "node_modules"), { recursive: true });
  for (const [name, content] of Object.entries({ "index.html": PAGE, "main.js": MAIN })) writeFileSync(join(path, name), content);
  const description = { name: "app", private: true, type: "module", "@parcel/resolver-default": { packageExports: true } };
  writeFileSync(join(path, "package.json"), JSON.stringify(description));
  cpSync(folder, join(path, "node_modules/burnformer"), { recursive: true, filter: (file) => !file.startsWith(join(folder, "models")) });
  for (const name of ["vite", "webpack", "webpack-cli", "parcel", "esbuild", "rollup", "@rollup", ".bin"]) {
    const target = join(installed, "node_modules", name);
    if (existsSync(target)) symlinkSync(target, join(path, "node_modules", name));
  }
  return path;
}

/** What the page in the folder `out` tells in Chromium. */
async function told(out) {
  let tell;
  const message = new Promise((resolve) => (tell = resolve));
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://page").pathname;
    const file = path.startsWith("/models/") ? join(folder, path) : join(out, path === "/" ? "index.html" : path);
    if (path === "/told") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => (response.end(), tell(body)));
    } else if (existsSync(file)) response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const profile = temporary();
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", `--user-data-dir=${profile}`];
  const child = spawn(chromium, [...options, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore" });
  const timer = setTimeout(() => tell("no word within two minutes"), 120_000);
  const text = await message;
  clearTimeout(timer);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  server.closeAllConnections();
  server.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 300 });
  return text;
}

for (const [name, { args, out, prepare, finish }] of Object.entries(BUNDLERS)) {
  test(`${name} builds a page that translates`, { skip }, async () => {
    const app = appIn(join(temporary(), "app"));
    prepare?.(app);
    const built = spawnSync(join(app, "node_modules/.bin", args[0]), args.slice(1), { cwd: app, encoding: "utf8" });
    assert.equal(built.status, 0, built.stdout + built.stderr);
    finish?.(join(app, out));
    assert.equal(await told(join(app, out)), "The house is small.");
  });
}
