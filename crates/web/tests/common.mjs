// Parts of every test: the package, the program to compare it with, and the models in the box.

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
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
