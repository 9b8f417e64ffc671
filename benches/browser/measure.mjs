// Measures translation in a browser beside Bergamot's engine and fxtranslate: one student of Firefox, the same sentences,
// one thread of each, every run in a new browser.
//
//   npm install --prefix PEERS @browsermt/bergamot-translator@0.4.9 fxtranslate@0.4.2
//   burnformer import STUDENT --out OURS && burnformer quantize --model OURS --out OURS8
//   node benches/browser/measure.mjs PEERS STUDENT OURS8 TEXT [BROWSER [ROUNDS [BURNFORMER]]]
//
// STUDENT has model.*.bin, vocab.*.spm and lex.*.bin; TEXT has a sentence per line. `cargo xtask web` comes first. With
// BURNFORMER, a program, its int8 on one thread is measured as well. Prints words per second, of the clock and of the
// processor time of the whole browser, seconds to a first translation, at the first load and at the next, and the most
// memory of its largest process.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { basename, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [peers, student, ours, text, browser = "chromium", rounds = "3", program] = process.argv.slice(2);
const sentences = readFileSync(text, "utf8").trim().split("\n");
const words = sentences.join(" ").split(/\s+/).length;
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };
const FOLDERS = { ours: fileURLToPath(new URL("../../target/npm", import.meta.url)), peers: join(peers, "node_modules"), student, model: ours };
const named = (start) => readdirSync(student).find((name) => name.startsWith(`${start}.`));
const parts = { model: named("model"), vocab: named("vocab"), lex: named("lex") };

/** What /proc says of the process `root` and of all that it started: [parent, seconds, kilobytes at most]. */
function processes(root) {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((id) => {
    try {
      const fields = readFileSync(`/proc/${id}/stat`, "utf8").split(") ").at(-1).split(" ");
      const most = Number(readFileSync(`/proc/${id}/status`, "utf8").match(/VmHWM:\s+(\d+)/)?.[1] ?? 0);
      return [[Number(id), Number(fields[1]), fields.slice(11, 15).reduce((sum, it) => sum + Number(it), 0) / 100, most]];
    } catch {
      return [];
    }
  });
  const below = new Set([root]);
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const [id, parent] of all) if (below.has(parent)) below.add(id);
  }
  return all.filter(([id]) => below.has(id));
}

function options(profile) {
  if (browser.includes("firefox")) return ["--headless", "--no-remote", "--profile", profile];
  return ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", `--user-data-dir=${profile}`];
}

/** What `engine` says of itself in a new browser. */
async function measured(engine) {
  let child, tell;
  const told = new Promise((resolve) => (tell = resolve));
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://page").pathname);
    const send = (type, body) => response.writeHead(200, { "content-type": type, "cache-control": "max-age=3600" }).end(body);
    const [, folder, ...rest] = path.split("/");
    const file = FOLDERS[folder] ? join(FOLDERS[folder], ...rest) : fileURLToPath(new URL(basename(path), import.meta.url));
    if (path === "/page") send("text/html", "<!doctype html><script type=module src=/engines.js></script>");
    else if (path === "/what") send("application/json", JSON.stringify({ engine, parts, sentences }));
    else if (path === "/registry") send("application/json", JSON.stringify({ enxx: Object.fromEntries(Object.entries(parts).map(([part, name]) => [part, { name: `/student/${name}` }])) }));
    else if (path === "/used") response.writeHead(200, { "cache-control": "no-store" }).end(String(processes(child.pid).reduce((sum, it) => sum + it[2], 0)));
    else if (path === "/told") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => (tell({ ...JSON.parse(body), memory: Math.max(...processes(child.pid).slice(1).map((it) => it[3])) / 1024 }), response.end()));
    } else if (existsSync(file)) send(TYPES[extname(file)] ?? "application/octet-stream", readFileSync(file));
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const profile = mkdtempSync(join(tmpdir(), "browser-"));
  child = spawn(browser, [...options(profile), `http://127.0.0.1:${server.address().port}/page`], { stdio: "ignore" });
  const timer = setTimeout(() => tell({ failed: "nothing within ten minutes" }), 600_000);
  const result = await told;
  clearTimeout(timer);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  server.closeAllConnections();
  server.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  return result;
}

/** The program's processor seconds for the sentences, without those of its start. */
function native() {
  const ended = () => Number(readFileSync("/proc/self/stat", "utf8").split(") ").at(-1).split(" ")[13]) / 100;
  const run = (input) => {
    const before = ended();
    spawnSync(program, ["translate", "--model", ours, "--compute", "int8", "--shortlist", join(ours, "shortlist.safetensors"), "--quiet"],
      { input, env: { ...process.env, RAYON_NUM_THREADS: "1" }, stdio: ["pipe", "ignore", "inherit"] });
    return ended() - before;
  };
  return run(sentences.join("\n")) - run("");
}

const range = (all) => `${Math.min(...all).toPrecision(3)} to ${Math.max(...all).toPrecision(3)}`;
const engines = ["burnformer", "bergamot", "fxtranslate"];
const found = Object.fromEntries(engines.map((engine) => [engine, []]));
const alone = [];
for (let round = 0; round < Number(rounds); round++) {
  for (const engine of round % 2 ? engines.toReversed() : engines) {
    const result = await measured(engine);
    if (result.failed) throw new Error(`${engine}: ${result.failed}`);
    const { cold, warm, opening, clock, used, memory, translations } = result;
    found[engine].push(result);
    console.log(`${engine}: ${(words / clock).toFixed(0)} words a second, ${(words / used).toFixed(0)} a processor second; first translation ${cold.toFixed(2)} s, warm ${warm.toFixed(2)} s (${opening.toFixed(2)} s of processor time); ${memory.toFixed(0)} MB; "${translations[0]}"`);
  }
  if (program) alone.push(native());
  if (program) console.log(`native: ${(words / alone.at(-1)).toFixed(0)} words a processor second`);
}
const same = (a, b) => a.translations.filter((it, i) => it === b.translations[i]).length;
for (const peer of engines.slice(1)) {
  const ratios = (of) => range(found.burnformer.map((it, i) => found[peer][i][of] / it[of]));
  console.log(`burnformer to ${peer}: ${ratios("clock")} by the clock, ${ratios("used")} by processor time; ${same(found.burnformer[0], found[peer][0])} of ${sentences.length} translations are the same`);
}
if (program) console.log(`burnformer to native: ${range(found.burnformer.map((it, i) => alone[i] / it.used))} by processor time`);
