// The pages in headless Chromium and Firefox, light and dark: what they show to a reader who types, opens models and
// documents, and goes offline. Where a browser is missing, its tests say so and pass.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { delimiter, extname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { folder, temporary } from "./common.mjs";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml" };
const FRAME = "<!doctype html><meta charset=utf-8><body style='margin: 0'><script src=/frame.js></script><script src=/steps.js></script>";
const script = (name) => readFileSync(fileURLToPath(new URL(name, import.meta.url)));

const CHROMIUM = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync", "--lang=en", "--remote-debugging-port=0"];
/** Browsers by their names: the programs that they may be, and the arguments that open an address with an empty profile. */
const BROWSERS = {
  Chromium: {
    programs: ["chromium", "chromium-browser", "google-chrome"],
    opening: (profile, isDark) => [...CHROMIUM, `--user-data-dir=${profile}`, `--blink-settings=preferredColorScheme=${isDark ? 0 : 1}`],
  },
  Firefox: {
    programs: ["firefox-esr", "firefox"],
    opening(profile, isDark) {
      const settings = { "ui.systemUsesDarkTheme": Number(isDark), "intl.accept_languages": "en", "browser.shell.checkDefaultBrowser": false, "datareporting.policy.dataSubmissionEnabled": false, "app.update.enabled": false };
      const lines = Object.entries(settings).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
      writeFileSync(join(profile, "user.js"), lines.join("\n"));
      return ["--headless", "--no-remote", "--profile", profile];
    },
  },
};

function found(programs) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.flatMap((folder) => programs.map((name) => join(folder, name))).find(existsSync);
}

/** A server of the package, and of `steps` which `tell` their lines, with its address. */
async function serving(steps, tell) {
  let isOffline = false;
  const server = createServer((request, response) => {
    const path = new URL(request.url, "http://page").pathname;
    const send = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
    if (path === "/log") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => (send("text/plain", ""), tell(body.split("\n"))));
    } else if (path === "/frame") send("text/html", FRAME);
    else if (path === "/frame.js") send("text/javascript", script("frame.js"));
    else if (path === "/steps.js") send("text/javascript", script(steps));
    else if (path === "/offline") send("text/plain", String((isOffline = true)));
    else if (isOffline) request.socket.destroy();
    else {
      const file = join(folder, path === "/" ? "index.html" : path);
      if (existsSync(file)) send(TYPES[extname(file)] ?? "application/octet-stream", readFileSync(file));
      else response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, address: `http://127.0.0.1:${server.address().port}/` };
}

/** The lines that the `steps` tell in the `browser`, a program, which is opened by these arguments. */
async function told(browser, opening, steps) {
  let tell;
  const log = new Promise((resolve) => (tell = resolve));
  const { server, address } = await serving(steps, tell);
  const profile = temporary();
  const child = spawn(browser, [...opening(profile), `${address}frame`], { stdio: "ignore" });
  const timer = setTimeout(() => tell(["no log within five minutes"]), 300_000);
  const lines = await log;
  clearTimeout(timer);
  await closed(child, server, profile);
  return lines;
}

async function closed(child, server, profile) {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  server.closeAllConnections();
  server.close();
  // Chromium has processes that write to the profile for a moment longer.
  rmSync(profile, { recursive: true, force: true, maxRetries: 20 });
}

/** Chromium's reasons why a page cannot be installed. */
async function installability(browser, page) {
  const { server, address } = await serving("steps.js");
  const profile = temporary();
  const opening = BROWSERS.Chromium.opening(profile, false).filter((it) => !it.startsWith("--remote"));
  const child = spawn(browser, [...opening, "--remote-debugging-pipe"], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const answers = [];
  let text = "";
  child.stdio[4].setEncoding("utf8").on("data", (part) => {
    const messages = (text += part).split("\0");
    text = messages.pop();
    messages.map((it) => JSON.parse(it)).forEach(({ id, result, error }) => id && answers[id](result ?? error));
  });
  const call = (method, params, sessionId) => new Promise((resolve) => {
    const id = (answers.length ||= 1);
    answers[id] = resolve;
    child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
  });
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  await call("Page.navigate", { url: address + page }, sessionId);
  const loaded = `new Promise((resolve) => (document.readyState === "complete" ? resolve() : onload = resolve))`;
  await call("Runtime.evaluate", { expression: loaded, awaitPromise: true }, sessionId);
  const found = await call("Page.getInstallabilityErrors", {}, sessionId);
  await closed(child, server, profile);
  return found;
}

for (const [name, scheme] of Object.keys(BROWSERS).flatMap((name) => [[name, "light"], [name, "dark"]])) {
  const browser = found(BROWSERS[name].programs);
  const skip = browser ? false : `no ${name} in PATH`;
  const opening = (profile) => BROWSERS[name].opening(profile, scheme === "dark");

  test(`${name}: the page translates, opens models and documents, and works offline, ${scheme}`, { skip }, async () => {
    const lines = await told(browser, opening, "steps.js");
    assert.deepEqual(lines, [
      "typed: Good morning! The house is small.",
      "",
      "I'm hungry.",
      "page.en.html: <p>The <b>house</b> is small.</p>",
      "film.en.srt: 1",
      "00:00:01,000 --> 00:00:02,000",
      "I'm hungry.",
      "",
      "broken.docx: the document is no whole archive",
      "song.mp3: no document format `mp3`",
      "other way: Das Haus ist klein.",
      "broken: model/model.safetensors: size differs from manifest.json; the file was changed or truncated, copy the whole directory anew",
      "opened: I'm hungry.",
      "390: fits",
      "768: fits",
      "1440: fits",
      "1920: fits",
      "without a label: ",
      "too faint: ",
      "in place, the same elements: Kopie",
      'element: <p title="Das Haus ist klein.">Das <b>Haus</b> ist klein.<br>Ich <a href="#x">habe Hunger</a>.</p><pre translate="no">The house</pre>',
      "kept: true",
      "shadow roots: Das Haus ist klein. | Das Haus ist klein. | The house is small. | The house is small. | true | 2/2",
      "offline: I'm hungry.",
      "the paper offline: true",
    ]);
  });

  test(`${name}: the paper is seen and trained, ${scheme}`, { skip }, async () => {
    const lines = await told(browser, opening, "paper-steps.js");
    assert.deepEqual(lines, [
      "translation: The small house is on the lake.",
      "the best path is the translation",
      "heads off: another translation, and the one before",
      "heads on: the translation",
      "greedy: 1 in each step",
      "grown: 2",
      "step: the second, with both temperatures",
      "the tree grows",
      "a piece: chosen",
      "neurons: 3 maps, whose sums are the weights",
      "positions: 4 waves, 1 map",
      "heads: 2, d_k = 32 / 2 = 16",
      "losses fall",
      "the rate is the formula's",
      "Without √d_k",
      "Without positions",
      "without the mask: the loss is nothing, and nothing is right",
      "sentences: Tom hat mir nichts gesagt . → … (written: Tom didn't tell me anything .)",
      "390: fits",
      "768: fits",
      "1440: fits",
      "1920: fits",
      "without a label: ",
      "too faint: ",
      "empty: the sentence has 0 tokens; give 1 to 59",
    ]);
  });
}

const chromium = found(BROWSERS.Chromium.programs);
const skip = chromium ? false : "no Chromium in PATH";

test("Chromium: the pages can be installed", { skip }, async () => {
  for (const page of ["index.html", "paper.html"]) {
    assert.deepEqual(await installability(chromium, page), { installabilityErrors: [] });
  }
});

test("Chromium: a graphics card computes as the processor does", { skip }, async (t) => {
  // A card made of software, where there is no other.
  const opening = (profile) => [...BROWSERS.Chromium.opening(profile, false), "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
  const [status, ...lines] = await told(chromium, opening, "gpu-steps.js");
  if (status.startsWith("This browser gives no graphics card")) return t.skip(status);
  lines.forEach((line) => t.diagnostic(line));
  assert.match(status, /^The card computes as the processor does/, lines.join("\n"));
  assert.deepEqual(lines.slice(-6), ["390: fits", "768: fits", "1440: fits", "1920: fits", "without a label: ", "too faint: "]);
});
