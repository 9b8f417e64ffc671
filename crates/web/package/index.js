// The translator of the package: workers that have the model, and share the sentences.

import { ARGUMENT, DOCUMENT, ENDED, failure } from "./failure.js";
import { cached, filesOf } from "./files.js";
import { platform } from "./platform.js";

/** Sentences that a worker translates at a time: enough to be fast, few enough to be shown soon. */
const TOGETHER = 16;
/** Documents of more bytes are not read: a page has no memory for them. */
const MOST = 1 << 26;
/** The values of the option `compute`; without one, the model directory decides. */
const COMPUTE = [undefined, null, "float32", "int8"];
/** The attribute that numbers the elements of a page while their text is translated. */
const MARK = "data-burnformer";

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

/** The bytes of a document, which may be a text, a file or bytes. */
async function bytesOf(document) {
  const size = document?.size ?? document?.byteLength ?? document?.length;
  if (size > MOST) throw failure(DOCUMENT, `the document has ${size} bytes; a page can translate ${MOST}`);
  if (typeof document === "string") return new TextEncoder().encode(document);
  const bytes = document?.arrayBuffer ? await document.arrayBuffer() : document;
  if (bytes?.byteLength === undefined) throw failure(ARGUMENT, "document: give a string, a File, or its bytes");
  return ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
}

/** Whether the text of an element stays as it is, by its own attributes; undefined if the elements around it decide. */
function staysItself(element) {
  const translate = element.getAttribute("translate")?.toLowerCase();
  if (translate === "no") return true;
  if (translate === "yes" || translate === "") return false;
  return element.classList.contains("notranslate") || undefined;
}

/** Whether the text of an element within `top` stays as it is. */
function stays(element, top) {
  for (let it = element; it && it !== top; it = it.parentElement ?? it.getRootNode().host) {
    const decided = staysItself(it);
    if (decided !== undefined) return decided;
  }
  return false;
}

/** An element or a shadow root, and the open shadow roots in it whose text does not stay as it is. */
function* rootsOf(root, top = root) {
  yield root;
  for (const host of [root, ...root.querySelectorAll("*")]) {
    if (host.shadowRoot && !stays(host, top)) yield* rootsOf(host.shadowRoot, top);
  }
}

/** One worker and the calls that wait for it. */
class Engine {
  #waiting = new Map();
  #count = 0;
  #ended = null;

  static start() {
    const engine = new Engine();
    engine.worker = platform.start((message) => engine.#answer(message), (reason) => engine.end(reason));
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

  #answer({ id, result, error, code }) {
    const call = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (!this.#waiting.size) this.worker.unref?.();
    if (error === undefined) call?.resolve(result);
    else call?.reject(failure(code, error));
    if (code === ENDED) this.end(error);
  }

  /** Ends the worker. What waits is rejected. */
  end(reason) {
    this.#ended ??= failure(ENDED, `the translator has ended (${reason}); load it again`);
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
  static async load(source, { name, compute, workers = 1, cache = true, progress, signal, ...others } = {}) {
    for (const option of Object.keys(others)) {
      throw failure(ARGUMENT, `${option}: no such option; there are name, compute, workers, cache, progress and signal`);
    }
    if (!Number.isInteger(workers) || workers < 1) {
      throw failure(ARGUMENT, `workers: ${workers}; give a whole number from 1`);
    }
    if (!COMPUTE.includes(compute)) {
      throw failure(ARGUMENT, `compute: ${compute}; give "float32" or "int8"`);
    }
    // The workers compile the module while the files come.
    const engines = [];
    try {
      for (let i = 0; i < workers; i++) engines.push(Engine.start());
      const model = await filesOf(source, { name, cache: cache && cached(), progress, signal });
      await Promise.all(engines.map((engine) => engine.call("load", { ...model, compute })));
      signal?.throwIfAborted();
    } catch (error) {
      engines.forEach((engine) => engine.end("it was not loaded"));
      throw error;
    }
    return new Translator(engines);
  }

  /** Translates one sentence, or the sentences of an array. */
  async translate(text, { onResult, ...options } = {}) {
    const texts = Array.isArray(text) ? text : [text];
    for (const wrong of texts.filter((it) => typeof it !== "string")) {
      throw failure(ARGUMENT, `text: ${wrong}; give a string, or an array of strings`);
    }
    const results = [];
    await this.#results(texts, options, (index, bytes) => {
      results[index] = counted(texts[index], bytes);
      if (!options.signal?.aborted) onResult?.(index, results[index]);
    });
    return Array.isArray(text) ? results : results[0];
  }

  /** Translates a whole document, a text or the bytes of a file, and keeps its markup. */
  async translateDocument(document, format, { progress, onSentences, onResult, alignment, ...options } = {}) {
    const isText = typeof document === "string";
    const kind = format ?? (isText ? "text" : document?.name?.match(/\.([^.]*)$/)?.[1]);
    if (typeof kind !== "string") throw failure(ARGUMENT, `format: ${kind}; give the name of a format, or a file with an extension`);
    const bytes = await bytesOf(document);
    const [{ signal, ...settings }, engine] = [options, this.#engines[0]];
    signal?.throwIfAborted();
    let [id, pending] = await engine.call("open", { bytes, kind, options: JSON.stringify(settings) });
    let [done, total] = [0, 0];
    try {
      for (let sentences; (sentences = JSON.parse(pending)).length; ) {
        total += sentences.length;
        if (!signal?.aborted) onSentences?.(sentences.map(([text]) => text));
        const found = new Array(sentences.length);
        // Links cost a pass of the model: only sentences with markup have them.
        for (const hasLinks of [false, true]) {
          const asked = sentences.flatMap(([, links], i) => (links === hasLinks ? [i] : []));
          const take = (index, { text, alignment }) => {
            found[asked[index]] = [text, alignment ?? []];
            if (!signal?.aborted) progress?.(++done, total);
          };
          await this.#results(asked.map((i) => sentences[i][0]), { ...options, alignment: hasLinks }, take);
        }
        pending = await engine.call("accept", { id, translations: JSON.stringify(found) });
      }
      const written = await engine.call("finish", { id });
      return isText ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(written) : written;
    } catch (error) {
      engine.call("forget", { id }).catch(() => {});
      throw error;
    }
  }

  /** Translates an element of a page and its open shadow roots in place: their elements stay the same ones. */
  async translateElement(element, { progress, ...options } = {}) {
    let [done, total] = [0, 0];
    for (const root of rootsOf(element)) {
      let last = [0, 0];
      const told = (...counts) => {
        last = counts;
        progress?.(done + counts[0], total + counts[1]);
      };
      await this.#translateRoot(root, { ...options, progress: told });
      done += last[0];
      total += last[1];
    }
  }

  /** Translates what is in an element or a shadow root, without the shadow roots in it. */
  async #translateRoot(root, options) {
    const live = [...root.querySelectorAll("*")];
    // Elements of a template's document are inert: copies of custom elements do nothing.
    const template = () => root.ownerDocument.createElement("template");
    const copy = template();
    const importing = copy.content.ownerDocument;
    copy.content.append(...[...root.childNodes].map((node) => importing.importNode(node, true)));
    const copies = [...copy.content.querySelectorAll("*")];
    copies.forEach((it, i) => it.setAttribute(MARK, i));
    const parsed = template();
    parsed.innerHTML = await this.translateDocument(copy.innerHTML, "html", options);
    const placed = new Set();
    const place = (from, into) => {
      const children = [...from.childNodes].map((node) => {
        const index = node.getAttribute?.(MARK);
        const own = live[index];
        if (!own) return node;
        // Words of one element can come to stand in two places.
        const here = placed.has(own) ? own.cloneNode() : own;
        placed.add(own);
        for (const { name, value } of node.attributes) if (copies[index].getAttribute(name) !== value) here.setAttribute(name, value);
        place(node, here);
        return here;
      });
      const old = [...into.childNodes];
      const isAlike = (node, i) => node === old[i] || (node.nodeType === old[i].nodeType && node.nodeType !== 1);
      if (children.length !== old.length || !children.every(isAlike)) into.replaceChildren(...children);
      // An element that is taken out and put back loses its focus, and a frame its page.
      else children.forEach((node, i) => node !== old[i] && (old[i].data = node.data));
    };
    place(parsed.content, root);
  }

  /** The places of the sentences of a plain text, each its beginning and end, as `slice` takes them. */
  async sentences(text, options = {}) {
    if (typeof text !== "string") throw failure(ARGUMENT, `text: ${text}; give a string`);
    return JSON.parse(await this.#engines[0].call("sentences", { text, options: JSON.stringify(options) }));
  }

  /** The language of a text, by default one of the model's unless it is clearly another; null if it has no words. */
  async detect(text, languages) {
    if (typeof text !== "string") throw failure(ARGUMENT, `text: ${text}; give a string`);
    if (languages && !languages.every?.((code) => typeof code === "string")) {
      throw failure(ARGUMENT, `languages: ${languages}; give an array of codes`);
    }
    const found = JSON.parse(await this.#engines[0].call("detect", { text, codes: languages }));
    return found && { language: found.language, confidence: found.confidence / 100 };
  }

  /** Translates texts, and calls `take` with the index and the result of each; alignments count bytes. */
  async #results(texts, { signal, ...options }, take) {
    signal?.throwIfAborted();
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
        found.forEach((result, i) => take(first + i, result));
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
  }

  /** Ends the workers and gives their memory back. */
  close() {
    this.#engines.forEach((engine) => engine.end("it was closed"));
  }
}
