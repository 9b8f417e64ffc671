// The package beside Bergamot's and fxtranslate's in Chromium, with one student of Firefox, one thread each:
//
//     npm install --prefix peers @browsermt/bergamot-translator fxtranslate
//     burnformer import marian STUDENT --out student
//     cargo xtask web
//     node benches/peers/browser.mjs STUDENT student peers english.txt [ROUNDS]
//
// STUDENT is the folder of the student's files (model*.bin, *.spm, lex*.bin), english.txt has a sentence on each line.
// Every engine has a browser of its own in each round; its time is also given as that of all processors of the browser.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [student, model, peers, text, rounds = "3"] = process.argv.slice(2);
const npm = fileURLToPath(new URL("../../target/npm", import.meta.url));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json" };
const ENGINES = ["burnformer", "burnformer without a shortlist", "bergamot", "fxtranslate"];
const sentences = readFileSync(text, "utf8").trim().split("\n");
const words = sentences.reduce((sum, sentence) => sum + sentence.split(" ").length, 0);
const file = (pattern) => readdirSync(student).find((name) => pattern.test(name));
const files = { model: file(/^model.*\.bin$/), vocabulary: file(/\.spm$/), shortlist: file(/^lex.*\.bin$/) };

/** What runs in the page: loads an engine from bytes that are here, translates one sentence, then all. */
async function measure(engine, { files, sentences }) {
  const bytes = async (address) => new Uint8Array(await (await fetch(address)).arrayBuffer());
  const at = (name) => bytes(`/student/${name}`);
  const asked = (worker) => {
    let count = 0;
    const waiting = new Map();
    worker.onmessage = ({ data: { id, result, error } }) => {
      const { resolve, reject } = waiting.get(id);
      error ? reject(new Error(error.message ?? error)) : resolve(result);
    };
    return (name, ...args) => new Promise((resolve, reject) => {
      waiting.set(++count, { resolve, reject });
      worker.postMessage({ id: count, name, args });
    });
  };
  const makers = {
    async burnformer() {
      const { Translator } = await import("/npm/index.js");
      const { files } = await (await fetch("/model/manifest.json")).json();
      const all = new Map();
      for (const name of ["manifest.json", ...Object.keys(files)]) all.set(name, await bytes(`/model/${name}`));
      return async () => {
        const translator = await Translator.load(all, { name: "en-pt", compute: "int8" });
        const options = { beam_size: 1, shortlist: engine === "burnformer" };
        return async (texts) => (await translator.translate(texts, options)).map(({ text }) => text);
      };
    },
    async bergamot() {
      const buffers = { model: (await at(files.model)).buffer, shortlist: (await at(files.shortlist)).buffer, vocabs: [(await at(files.vocabulary)).buffer] };
      return async () => {
        const call = asked(new Worker("/peers/@browsermt/bergamot-translator/worker/translator-worker.js"));
        await call("initialize", { cacheSize: 0 });
        await call("loadTranslationModel", { from: "en", to: "pt" }, buffers);
        const models = [{ from: "en", to: "pt" }];
        return async (texts) => {
          const found = await call("translate", { models, texts: texts.map((text) => ({ text, html: false, qualityScores: false })) });
          return found.map(({ target }) => target.text);
        };
      };
    },
    async fxtranslate() {
      const [model, vocabulary, shortlist] = await Promise.all([files.model, files.vocabulary, files.shortlist].map(at));
      return async () => {
        const call = asked(new Worker("/fxtranslate-worker.js", { type: "module" }));
        await call("load", model, vocabulary, shortlist);
        return (texts) => call("translate", texts);
      };
    },
  };
  const make = await makers[engine.split(" ")[0]]();
  const mark = (name) => fetch(`/mark?${name}`);
  const start = performance.now();
  const translate = await make();
  await translate([sentences[0]]);
  const first = performance.now() - start;
  await mark("start");
  const begun = performance.now();
  const found = await translate(sentences);
  const seconds = (performance.now() - begun) / 1000;
  await mark("end");
  return { first, seconds, found };
}

const FX = `import init, { Translator } from "/peers/fxtranslate/wasm/fxtranslate_wasm.js";
let engine;
const methods = {
  async load(model, vocabulary, shortlist) { await init(); engine = new Translator(model, vocabulary, vocabulary, shortlist); },
  translate: (texts) => texts.map((text) => engine.translate(text)),
};
onmessage = async ({ data: { id, name, args } }) => {
  try { postMessage({ id, result: await methods[name](...args) }); } catch (error) { postMessage({ id, error: String(error) }); }
};`;

/** Processor seconds and the largest memory in MB of a process and all below it. */
function used(root) {
  const processes = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((id) => {
    try {
      const stat = readFileSync(`/proc/${id}/stat`, "utf8");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const memory = Number(readFileSync(`/proc/${id}/status`, "utf8").match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024;
      return [{ id: Number(id), parent: Number(fields[1]), seconds: (Number(fields[11]) + Number(fields[12])) / 100, memory }];
    } catch {
      return [];
    }
  });
  const below = new Set([root]);
  for (let grown = true; grown; ) {
    grown = false;
    for (const { id, parent } of processes) if (below.has(parent) && !below.has(id)) grown = Boolean(below.add(id));
  }
  const ours = processes.filter(({ id }) => below.has(id));
  return { seconds: ours.reduce((sum, it) => sum + it.seconds, 0), memory: Math.max(...ours.map((it) => it.memory)) };
}

async function round(engine) {
  let child, done;
  const marks = {};
  const result = new Promise((resolve) => (done = resolve));
  const folders = { "/npm/": npm, "/model/": model, "/student/": student, "/peers/": join(peers, "node_modules") };
  const page = `<!doctype html><script type=module>const measure = ${measure};
    const answer = await measure(${JSON.stringify(engine)}, await (await fetch("/task")).json()).catch((error) => ({ error: String(error?.message ?? error) }));
    await fetch("/done", { method: "POST", body: JSON.stringify(answer) });</script>`;
  const server = createServer((request, response) => {
    const url = new URL(request.url, "http://page");
    const send = (type, body) => response.writeHead(200, { "content-type": type }).end(body);
    const folder = Object.keys(folders).find((start) => url.pathname.startsWith(start));
    const path = folder && join(folders[folder], decodeURIComponent(url.pathname.slice(folder.length)));
    if (url.pathname === "/done") {
      let body = "";
      request.on("data", (part) => (body += part)).on("end", () => (send("text/plain", ""), done(JSON.parse(body))));
    } else if (url.pathname === "/mark") send("text/plain", String((marks[url.search.slice(1)] = used(child.pid)) && ""));
    else if (url.pathname === "/task") send("application/json", JSON.stringify({ files, sentences }));
    else if (url.pathname === "/fxtranslate-worker.js") send("text/javascript", FX);
    else if (url.pathname === "/") send("text/html", page);
    else if (path && existsSync(path)) send(TYPES[extname(path)] ?? "application/octet-stream", readFileSync(path));
    else response.writeHead(404).end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const profile = mkdtempSync(join(tmpdir(), "burnformer-browser-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync", "--remote-debugging-port=0"];
  child = spawn("chromium", [...flags, `--user-data-dir=${profile}`, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore" });
  const answer = await result;
  const { memory } = used(child.pid);
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await ended;
  server.closeAllConnections();
  server.close();
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  if (answer.error) throw new Error(`${engine}: ${answer.error}`);
  return { ...answer, processor: marks.end.seconds - marks.start.seconds, memory };
}

const found = Object.fromEntries(ENGINES.map((engine) => [engine, []]));
for (let i = 0; i < Number(rounds); i++) {
  for (const engine of ENGINES) found[engine].push(await round(engine));
}
const range = (all, digits = 0) => [...new Set([Math.min(...all), Math.max(...all)].map((it) => it.toFixed(digits)))].join("–");
for (const [engine, all] of Object.entries(found)) {
  const like = all[0].found.filter((text, i) => text === found.bergamot[0].found[i]).length;
  console.log(`${engine}: ${range(all.map(({ processor }) => words / processor))} words per processor second, `
    + `${range(all.map(({ seconds }) => words / seconds))} per second; first translation after ${range(all.map(({ first }) => first / 1000), 2)} s; `
    + `${range(all.map(({ memory }) => memory))} MB; as Bergamot ${like} of ${sentences.length}`);
}
