// A worker that has the model: what is asked of it comes as messages, and so do its answers.

import init, { Files, Model } from "./burnformer_web.js";

const isNode = Boolean(globalThis.process?.versions?.node) && !globalThis.WorkerGlobalScope;
const port = isNode ? (await import("node:worker_threads")).parentPort : globalThis;
let model = null;
/** The promise of the module, which compiles while the files of the model come. */
const ready = wasm("burnformer_web").then(init);
ready.catch(() => {});
/** The promise of the module for documents, which is loaded with the first one. */
let documents = null;
/** The documents that are translated now, by numbers. */
const opened = new Map();
let count = 0;

/** A module of the package, as the function that starts it takes it. */
async function wasm(name) {
  const address = new URL(`./${name}_bg.wasm`, import.meta.url);
  return { module_or_path: isNode ? await (await import("node:fs/promises")).readFile(address) : address };
}

function forDocuments() {
  documents ??= (async () => {
    const module = await import("./burnformer_documents.js");
    await module.default(await wasm("burnformer_documents"));
    return module;
  })();
  // Without a network it is tried again the next time.
  documents.catch(() => (documents = null));
  return documents;
}

/** The SHA-256 of bytes, where this page may compute it; elsewhere the module does, more slowly. */
async function hashOf(bytes) {
  const hash = await globalThis.crypto?.subtle?.digest("SHA-256", bytes).catch(() => null);
  return hash ? Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("") : undefined;
}

/** The languages of the model; none of one that has to be told them. */
function languages() {
  try {
    return JSON.parse(model.bounds("{}"))[1] ?? [];
  } catch {
    return [];
  }
}

const methods = {
  async load({ name, files, compute }) {
    await ready;
    const all = new Files(name);
    for (const [file, bytes] of files) all.add(file, bytes, await hashOf(bytes));
    model = new Model(all, compute);
  },
  translate: ({ texts, options }) => model.translate(texts, options),
  async open({ bytes, kind, options }) {
    const [longest, known] = JSON.parse(model.bounds(options));
    const { Document } = await forDocuments();
    const [from, into] = known ?? ["", ""];
    const document = new Document(bytes, kind, from, into, (text) => model.tokens(text) <= longest);
    opened.set(++count, document);
    return [count, document.pending()];
  },
  accept({ id, translations }) {
    opened.get(id).accept(translations);
    return opened.get(id).pending();
  },
  finish({ id }) {
    const document = opened.get(id);
    opened.delete(id);
    return document.finish();
  },
  forget({ id }) {
    opened.get(id)?.free();
    opened.delete(id);
  },
  async detect({ text, codes }) {
    const { detect } = await forDocuments();
    return detect(text, codes ?? languages());
  },
};

/** An error after which the memory of the module is in no known state. */
function isFatal(error) {
  return !(error instanceof Error) || error instanceof WebAssembly.RuntimeError
    || error instanceof RangeError || error.message.startsWith("panicked at");
}

async function answer({ id, method, argument }) {
  try {
    port.postMessage({ id, result: await methods[method](argument) });
  } catch (error) {
    port.postMessage({ id, error: String(error?.message ?? error), fatal: isFatal(error) });
  }
}

if (isNode) port.on("message", answer);
else port.onmessage = ({ data }) => answer(data);
