// What a worker that has the model answers: each question comes as a message, and so does its answer.

import init, { Files, Model } from "./burnformer_web.js";
import { ARGUMENT, DOCUMENT, ENDED, MODEL, NETWORK, TEXT, failure } from "./failure.js";
import { hashOf } from "./hash.js";

/** A module with an instruction of relaxed SIMD, `i16x8.relaxed_dot_i8x16_i7x16_s` of two splats. */
const RELAXED = Uint8Array.of(
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0,
  10, 15, 1, 13, 0, 65, 0, 253, 15, 65, 0, 253, 15, 253, 146, 2, 11,
);

let model = null;
/** The promise of the module, which compiles while the files of the model come. */
let ready = null;
/** What a module is compiled from: its address, or the bytes there. */
let source = null;
/** The promise of the module for documents, which is loaded with the first one. */
let documents = null;
/** The documents that are translated now, by numbers. */
const opened = new Map();
let count = 0;

async function forDocuments() {
  documents ??= startDocuments();
  // Without a network it is tried again the next time.
  documents.catch(() => (documents = null));
  return documents;
}

/** The address of the module. Bundlers find a file only by its whole name beside `import.meta.url`. */
function moduleAddress() {
  return WebAssembly.validate(RELAXED)
    ? new URL("./burnformer_relaxed_bg.wasm", import.meta.url)
    : new URL("./burnformer_web_bg.wasm", import.meta.url);
}

async function startModel() {
  try {
    await init({ module_or_path: await source(moduleAddress()) });
  } catch (error) {
    throw withoutModule(error);
  }
}

async function startDocuments() {
  try {
    const module = await import("./burnformer_documents.js");
    await module.default({ module_or_path: await source(new URL("./burnformer_documents_bg.wasm", import.meta.url)) });
    return module;
  } catch (error) {
    throw withoutModule(error);
  }
}

/** The error of a module that could not be fetched or compiled. */
function withoutModule(error) {
  return isFatal(error) ? error : failure(NETWORK, `the module of the translator does not load: ${error.message}`, error);
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
  async sentences({ text, options }) {
    const [longest, known] = JSON.parse(model.bounds(options));
    const { sentences } = await forDocuments();
    const [from, into] = known ?? ["", ""];
    return sentences(text, from, into, (part) => model.tokens(part) <= longest);
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

/** The code of an error of `method`. */
function codeOf(method, { options }, error) {
  if (isFatal(error)) return ENDED;
  if (error.code) return error.code;
  if (method === "load") return MODEL;
  return takes(options) ? { translate: TEXT }[method] ?? DOCUMENT : ARGUMENT;
}

/** Whether the model takes these options. */
function takes(options = "{}") {
  try {
    model.bounds(options);
    return true;
  } catch {
    return false;
  }
}

/** Starts the module, and returns the function that takes messages. Answers go to `post`. */
export function serve(post, sourceOf) {
  source = sourceOf;
  ready = startModel();
  ready.catch(() => {});
  return async ({ id, method, argument }) => {
    try {
      post({ id, result: await methods[method](argument) });
    } catch (error) {
      post({ id, error: String(error?.message ?? error), code: codeOf(method, argument, error) });
    }
  };
}
