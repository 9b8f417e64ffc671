// The page: loads a model, and translates while its reader types.

import { Translator } from "./index.js";
import { language, word, write } from "./words.js";

/** The models beside the page. */
const MODELS = ["de-en", "en-de"];
/** The pause in typing after which the text is translated, in milliseconds. */
const PAUSE = 250;
const WORKERS = Math.max(1, Math.min(4, (navigator.hardwareConcurrency ?? 2) - 1));

const [model, folder, file, progress, source, target, copy, status, save, inPlace] =
  ["model", "folder", "file", "progress", "source", "target", "copy", "status", "save", "in-place"].map((id) => document.getElementById(id));

/** Models that were opened, by the values of their options. */
const opened = new Map();
/** The name of the present model, and the promise of its translator. */
let present = { name: MODELS[0], translator: null };
/** What ends the present translation. */
let running = new AbortController();
let pause;

function say(text, isError = false) {
  status.textContent = text;
  status.classList.toggle("error", isError);
}

/** Loads the model that is chosen, and ends the one before it. */
async function choose() {
  running.abort();
  const before = present.translator;
  const name = model.value;
  progress.hidden = false;
  progress.value = 0;
  say(word("loading"));
  const files = opened.get(name);
  const options = { workers: WORKERS, progress: (loaded, total) => (progress.value = loaded / total) };
  const loading = Translator.load(files ?? new URL(`models/${name}/`, document.baseURI), options);
  present = { name, translator: loading };
  before?.then((translator) => translator.close(), () => {});
  try {
    await loading;
    if (present.translator !== loading) return;
    say(word("ready"));
    await translate();
  } catch (error) {
    if (present.translator === loading) say(error.message, true);
  } finally {
    if (present.translator === loading) progress.hidden = true;
  }
}

/** The sentences of a text, and the white space around them: `[isSentence, text]`. */
function parts(text) {
  const segments = [...new Intl.Segmenter(present.name.split("-")[0].slice(0, 2) || "en", { granularity: "sentence" }).segment(text)];
  return segments.flatMap(({ segment }) => segment.split(/(\s*\n\s*|^\s+|\s+$)/).filter(Boolean))
    .map((part) => [/\S/.test(part), part]);
}

async function translate() {
  running.abort();
  const { signal } = (running = new AbortController());
  const all = parts(source.value);
  const shown = all.map(([isSentence, text]) => (isSentence ? "" : text));
  const indices = all.flatMap(([isSentence], i) => (isSentence ? [i] : []));
  if (!indices.length) return (target.value = "");
  const start = performance.now();
  let done = 0;
  const onResult = (index, { text }) => {
    shown[indices[index]] = text;
    target.value = shown.join("");
    say(word("translating", { done: ++done, all: indices.length }));
  };
  try {
    const translator = await present.translator;
    if (signal.aborted) return;
    const options = { signal, onResult };
    await translator.translate(indices.map((i) => all[i][1]), options);
    say(word("done", { sentences: indices.length, seconds: ((performance.now() - start) / 1000).toFixed(2) }));
  } catch (error) {
    if (!signal.aborted) say(error.message, true);
  }
}

/** Translates a document, and offers the result to be saved. */
async function translateFile(given) {
  running.abort();
  const { signal } = (running = new AbortController());
  const start = performance.now();
  let sentences = 0;
  save.hidden = true;
  say(word("translating", { done: 0, all: "…" }));
  try {
    const translator = await present.translator;
    if (signal.aborted) return;
    const bytes = await translator.translateDocument(given, undefined, {
      signal,
      progress: (done, all) => say(word("translating", { done: (sentences = done), all })),
    });
    if (signal.aborted) return;
    const name = given.name.replace(/(\.[^.]*)$/, `.${present.name.split("-")[1]?.slice(0, 2) ?? "translated"}$1`);
    URL.revokeObjectURL(save.href);
    Object.assign(save, { href: URL.createObjectURL(new Blob([bytes])), download: name, textContent: word("save", { name }), hidden: false });
    say(word("file-done", { name: given.name, sentences, seconds: ((performance.now() - start) / 1000).toFixed(2) }));
  } catch (error) {
    if (!signal.aborted) say(error.message, true);
  }
}

/** The model that can translate the page's own text. */
const own = MODELS.find((name) => name.startsWith(`${language}-`));

/** Translates the page's own text in place. */
async function translatePage() {
  try {
    // A larger model that the reader opened may translate from the page's language too.
    if (!present.name.startsWith(language)) {
      model.value = own;
      await choose();
    }
    const translator = await present.translator;
    await translator.translateElement(document.body);
    document.documentElement.lang = present.name.split("-")[1]?.slice(0, 2) ?? "";
    inPlace.hidden = true;
  } catch (error) {
    say(error.message, true);
  }
}

folder.addEventListener("change", () => {
  if (folder.files.length) open([...folder.files]);
});
file.addEventListener("change", () => {
  if (file.files.length) translateFile(file.files[0]);
  // The same file can be chosen again.
  file.value = "";
});

/** Makes files that the reader gave the model. */
function open(files) {
  const name = files[0].webkitRelativePath?.split("/").at(-2) || "model";
  const value = `${name} ${opened.size + 1}`;
  opened.set(value, files);
  model.add(new Option(word("own", { name }), value));
  model.value = value;
  choose();
}

document.addEventListener("dragover", (event) => event.preventDefault());
document.addEventListener("drop", async (event) => {
  event.preventDefault();
  const entry = event.dataTransfer.items[0]?.webkitGetAsEntry?.();
  const files = entry?.isDirectory ? await filesIn(entry) : [...event.dataTransfer.files];
  // A document is one file; a model has several.
  if (files.length > 1 || entry?.isDirectory) open(files);
  else if (files.length) translateFile(files[0]);
});

/** The files of a folder that was dropped. */
async function filesIn(entry) {
  const reader = entry.createReader();
  const entries = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
  const files = entries.filter((one) => one.isFile);
  return Promise.all(files.map((one) => new Promise((resolve, reject) => one.file(resolve, reject))));
}

source.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(translate, PAUSE);
});
copy.addEventListener("click", async () => {
  await navigator.clipboard.writeText(target.value);
  say(word("copied"));
});
model.addEventListener("change", choose);
inPlace.hidden = !own;
inPlace.addEventListener("click", translatePage);

write();
MODELS.forEach((name) => model.add(new Option(word(name), name)));
navigator.serviceWorker?.register("offline.js").catch(() => {});
choose();
