// Parts of every test: the package, the program to compare it with, and the models in the box.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const folder = process.env.BURNFORMER_WEB ?? fileURLToPath(new URL("../../../target/npm", import.meta.url));
export const { Translator } = await import(pathToFileURL(join(folder, "node.js")));

/** The address of a model in the box. */
export function address(pair) {
  return pathToFileURL(join(folder, "models", pair));
}

/** The files of a model in the box, which a test may change. */
export function files(pair = "de-en") {
  const path = join(folder, "models", pair);
  return new Map(readdirSync(path).map((name) => [name, new Uint8Array(readFileSync(join(path, name)))]));
}

/** Writes the manifest anew, as who made the files would. */
export function seal(files) {
  const entries = [...files].filter(([name]) => name !== "manifest.json").map(([name, bytes]) =>
    [name, { bytes: bytes.length, sha256: createHash("sha256").update(bytes).digest("hex") }]);
  const manifest = JSON.stringify({ files: Object.fromEntries(entries) });
  return files.set("manifest.json", new TextEncoder().encode(manifest));
}

/** The tensors of a model by their names, each with its type, shape and bytes, and the notes of the file. */
export function tensors(files) {
  const bytes = files.get("model.safetensors");
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  const { __metadata__: notes, ...entries } = JSON.parse(new TextDecoder().decode(bytes.slice(8, 8 + length)));
  const all = Object.entries(entries).map(([name, { dtype, shape, data_offsets: [start, end] }]) =>
    [name, { dtype, shape, data: bytes.slice(8 + length + start, 8 + length + end) }]);
  return { notes, all: new Map(all) };
}

/** The files of a model with other tensors and changes of its configuration, sealed. */
export function remade(files, { notes, all }, changes) {
  const header = notes ? { __metadata__: notes } : {};
  let end = 0;
  for (const [name, { dtype, shape, data }] of all) header[name] = { dtype, shape, data_offsets: [end, (end += data.length)] };
  const text = JSON.stringify(header);
  const head = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / 8) * 8));
  const whole = new Uint8Array(8 + head.length + end);
  new DataView(whole.buffer).setBigUint64(0, BigInt(head.length), true);
  whole.set(head, 8);
  let at = 8 + head.length;
  for (const { data } of all.values()) {
    whole.set(data, at);
    at += data.length;
  }
  files.set("model.safetensors", whole);
  return configured(files, changes);
}

/** The files of a model with changes of its configuration, sealed. */
export function configured(files, changes) {
  const config = JSON.parse(new TextDecoder().decode(files.get("config.json")));
  Object.assign(config.model, changes);
  return seal(files.set("config.json", new TextEncoder().encode(JSON.stringify(config))));
}

/** Writes files to a folder of this name, and answers its path. */
export function written(files, name = "model") {
  const path = join(temporary(), name);
  mkdirSync(path);
  for (const [file, bytes] of files) writeFileSync(join(path, file), bytes);
  return path;
}

/** What the program says to `args`; one thread computes. */
export function program(args, input = "") {
  const env = { ...process.env, RAYON_NUM_THREADS: "1" };
  return execFileSync(process.env.BURNFORMER, args, { input, env, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["pipe", "pipe", "ignore"] });
}

/** The program's translations of the first sentences of the test text, as it writes them in JSON. */
export function native(pair, count, options = []) {
  const corpus = new URL("../../../assets/corpus/tatoeba-de-en/", import.meta.url);
  const text = fileURLToPath(new URL(`test.${pair.slice(0, 2)}.zst`, corpus));
  const model = ["--model", `embedded:${pair}`, "--input", text, "--json"];
  const lines = program(["translate", ...model, ...options]).split("\n");
  return lines.slice(0, count).map((line) => JSON.parse(line));
}

/** A folder for the files of a test. */
export function temporary() {
  return mkdtempSync(join(tmpdir(), "burnformer-web-"));
}
