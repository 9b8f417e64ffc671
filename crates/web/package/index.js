// The translator of the package: workers that have the model, and share the sentences.

import { cached, filesOf } from "./files.js";

/** Sentences that a worker translates at a time: enough to be fast, few enough to be shown soon. */
const TOGETHER = 16;

/** The index in a text for every byte of its UTF-8. */
function units(text) {
  const all = [];
  let index = 0;
  for (const character of text.toWellFormed?.() ?? text) {
    const code = character.codePointAt(0);
    const bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (let i = 0; i < bytes; i++) all.push(index);
    index += character.length;
  }
  all.push(index);
  return all;
}

/** A result whose alignment counts as JavaScript does. */
function counted(source, result) {
  if (!result.alignment) return result;
  const sides = [units(source), units(result.text)];
  const alignment = result.alignment.map((link) => link.map((range, side) => range.map((byte) => sides[side][byte])));
  return { ...result, alignment };
}

/** An error after which a worker cannot go on. */
class Ended extends Error {}

/** One worker and the calls that wait for it. */
class Engine {
  #waiting = new Map();
  #count = 0;
  #ended = null;

  static async start() {
    const engine = new Engine();
    const address = new URL("./worker.js", import.meta.url);
    if (globalThis.Worker) {
      engine.worker = new Worker(address, { type: "module" });
      engine.worker.onmessage = ({ data }) => engine.#answer(data);
      engine.worker.onerror = (event) => engine.end(event.message || "the worker does not start");
    } else {
      const { Worker } = await import("node:worker_threads");
      engine.worker = new Worker(address);
      engine.worker.on("message", (data) => engine.#answer(data));
      engine.worker.on("error", (error) => engine.end(error.message));
    }
    return engine;
  }

  /** What the worker answers to `method`. */
  call(method, argument) {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      // A process in Node stays for as long as somebody waits, and no longer.
      this.worker.ref?.();
      this.worker.postMessage({ id, method, argument });
    });
  }

  #answer({ id, result, error, fatal }) {
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!this.#waiting.size) this.worker.unref?.();
    if (error === undefined) call?.resolve(result);
    else call?.reject(fatal ? new Ended(error) : new Error(error));
    if (fatal) this.end(error);
  }

  /** Ends the worker. What waits is rejected. */
  end(reason) {
    this.#ended ??= new Ended(`the translator has ended (${reason}); load it again`);
    this.worker.terminate();
    this.#waiting.forEach(({ reject }) => reject(this.#ended));
    this.#waiting.clear();
  }
}

export class Translator {
  #engines;

  constructor(engines) {
    this.#engines = engines;
  }

  /** Loads a model directory; see the types for `source` and the options. */
  static async load(source, { name, compute, workers = 1, cache = true, progress, signal } = {}) {
    if (!Number.isInteger(workers) || workers < 1) {
      throw new RangeError(`workers: ${workers}; give a whole number from 1`);
    }
    const model = await filesOf(source, { name, cache: cache && cached(), progress, signal });
    const engines = [];
    try {
      for (let i = 0; i < workers; i++) engines.push(await Engine.start());
      await Promise.all(engines.map((engine) => engine.call("load", { ...model, compute })));
      signal?.throwIfAborted();
    } catch (error) {
      engines.forEach((engine) => engine.end("it was not loaded"));
      throw error;
    }
    return new Translator(engines);
  }

  /** Translates one sentence, or the sentences of an array. */
  async translate(text, { signal, onResult, ...options } = {}) {
    const texts = Array.isArray(text) ? text : [text];
    const wrong = texts.find((it) => typeof it !== "string");
    if (wrong !== undefined) throw new TypeError(`text: ${wrong}; give a string, or an array of strings`);
    signal?.throwIfAborted();
    const results = new Array(texts.length);
    const settings = JSON.stringify(options);
    const together = Math.max(1, Math.min(TOGETHER, Math.ceil(texts.length / this.#engines.length)));
    let next = 0;
    const work = async (engine) => {
      while (next < texts.length) {
        signal?.throwIfAborted();
        const first = next;
        next += together;
        const part = texts.slice(first, next);
        const found = JSON.parse(await engine.call("translate", { texts: part, options: settings }));
        found.forEach((bytes, i) => {
          const result = counted(part[i], bytes);
          results[first + i] = result;
          if (!signal?.aborted) onResult?.(first + i, result);
        });
      }
    };
    const aborted = new Promise((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    const all = this.#engines.map(work);
    try {
      await (signal ? Promise.race([Promise.all(all), aborted]) : Promise.all(all));
    } catch (error) {
      next = texts.length;
      // The other workers end their sentences; their errors are the same or follow from this one.
      all.forEach((one) => one.catch(() => {}));
      aborted.catch(() => {});
      throw error;
    }
    aborted.catch(() => {});
    return Array.isArray(text) ? results : results[0];
  }

  /** Ends the workers and gives their memory back. */
  close() {
    this.#engines.forEach((engine) => engine.end("it was closed"));
  }
}
