// What went wrong, as a sentence in the language of the page.

import { word } from "./words.js";

/** The messages of the module and of browsers, and the words for each; groups are the values of its gaps. */
const KNOWN = [
  [/the sentence has 0 tokens/, "error-empty"],
  [/the sentence has (?<count>\d+) tokens; give 1 to (?<most>\d+)/, "error-long"],
  [/(?:source|target) has (?<count>\d+) tokens with <\/s> but at most (?<most>\d+)/, "error-sentence-long"],
  [/a model "(?<name>[^"]*)"; open a Transformer/, "error-architecture"],
  [/no model is open/, "error-none"],
  [/the worker does not start/, "error-start"],
  [/panicked|has ended|null pointer|RuntimeError|out of memory|memory access out of bounds|unreachable|Out of bounds memory|allocation failed/i, "error-memory"],
  [/Failed to fetch|NetworkError|Load failed|error loading dynamically imported/i, "error-network"],
  [/the document has (?<bytes>\d+) bytes; a page can translate (?<most>\d+)/, "error-document-large"],
  [/too large for a page|does not fit into the free memory|the model has \d+ bytes; a page can load|must be at most \d+/, "error-large"],
  [/no document format `(?<kind>[^`]*)`/, "error-format"],
  [/^`\.(?<kind>[^`]*)` files are not read/, "error-format"],
  [/format: undefined/, "error-nameless"],
  [/the document is no whole archive|the archive is no/, "error-archive"],
  [/^line \d+: |the file is no |the document (?:is|has)|not UTF-8/, "error-document"],
  [/holds no manifest\.json|manifest\.json: is no list of files/, "error-folder"],
  [/belong to different models|holds other values than/, "error-mixed"],
  [/architecture "[^"]*" is unknown|format version \d+/, "error-version"],
  [/(?<file>\S+): (?:size differs|the hash differs|has no|no such file|is missing)/, "error-broken"],
  [/(?<file>\S*(?:config\.json|manifest\.json|model\.safetensors|tokenizer\.json))/, "error-broken"],
];

/** The sentence for an error; one that is not known stands in the words of the program. */
export function explained(error) {
  const text = String(error?.message ?? error);
  for (const [pattern, name] of KNOWN) {
    const found = text.match(pattern);
    if (found) return word(name, { text, ...found.groups });
  }
  return word("error-other", { text });
}

/** Whether the module cannot go on after this error: it panicked, or has no memory. */
export const isFatal = (error) => /panicked|memory|unreachable|null pointer|RuntimeError|has ended|the worker does not start/i.test(String(error?.message ?? error));
