// A worker that has the model: what is asked of it comes as messages, and so do its answers.

import init, { Files, Model } from "./burnformer_web.js";

const isNode = Boolean(globalThis.process?.versions?.node) && !globalThis.WorkerGlobalScope;
const port = isNode ? (await import("node:worker_threads")).parentPort : globalThis;
const address = new URL("./burnformer_web_bg.wasm", import.meta.url);
let model = null;

const methods = {
  async load({ name, files, compute }) {
    const module_or_path = isNode ? await (await import("node:fs/promises")).readFile(address) : address;
    await init({ module_or_path });
    const all = new Files(name);
    for (const [file, bytes] of files) all.add(file, bytes);
    model = new Model(all, compute);
  },
  translate({ texts, options }) {
    return model.translate(texts, options);
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
