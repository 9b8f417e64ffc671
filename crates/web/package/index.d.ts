/** The bytes of a file. */
export type Bytes = Uint8Array | ArrayBuffer | Blob;

/**
 * A model directory: the address of a folder that has its files, the files themselves (of an
 * `<input type=file multiple>` or `webkitdirectory`), a folder that the reader chose
 * (`showDirectoryPicker()`), or names and bytes.
 */
export type Source =
  | string
  | URL
  | Iterable<File>
  | FileSystemDirectoryHandle
  | Map<string, Bytes>
  | Record<string, Bytes>;

export interface LoadOptions {
  /** The name of the model in messages. One such as `de-en` tells its languages. By default that of the folder. */
  name?: string;
  /** The numbers that the model multiplies in, by default as its directory says. */
  compute?: "float32" | "int8";
  /** The number of workers, which share the sentences. Each has the model in memory. 1 by default. */
  workers?: number;
  /** Keep what is fetched in the browser's cache, by its hashes. True by default. */
  cache?: boolean;
  /** Called with the bytes that are here and those of the whole model. */
  progress?: (loaded: number, total: number) => void;
  signal?: AbortSignal;
}

/** The search settings of `generation.json`, and what is of one call. What is not given is as the model says. */
export interface TranslateOptions {
  beam_size?: number;
  n_best?: number;
  length_penalty?: "none" | "average" | { gnmt: number } | { power: number };
  word_penalty?: number;
  min_length?: number;
  max_length?: number | null;
  max_length_factor?: number;
  max_length_extra?: number;
  no_repeat_ngram?: number;
  no_repeat_source_ngram?: number;
  repetition_penalty?: number;
  prefix_bias?: number;
  suppress?: number[];
  suppress_sequences?: number[][];
  begin_suppress?: number[];
  forced_bos?: number | null;
  end_tokens?: number[];
  beam_rule?: "gnmt" | "near" | "transformers" | "marian" | "ctranslate2";
  early_stopping?: "current" | "full" | "never";
  patience?: number;
  coverage_penalty?: number;
  at_limit?: "cut" | "close";
  sampling?: { temperature?: number; top_k?: number; top_p?: number; seed?: number } | null;
  small_letters?: boolean;
  second_search?: boolean;
  keep_parts?: boolean;
  /** The languages, for a model that knows several. */
  source_language?: string;
  target_language?: string;
  /** Translate also between two languages of which the model has not learnt this pair. */
  zero_shot?: boolean;
  /** The most tokens of a sentence; a longer one is an error, or cut if `truncate` is true. */
  longest?: number;
  truncate?: boolean;
  /** Prescribed translations of terms. */
  glossary?: Record<string, string>;
  /** With a model that has a shortlist: false lets every token be chosen, and is slower. True by default. */
  shortlist?: boolean;
  /** Have results say which part of the source each part of the translation comes from. */
  alignment?: boolean;
  /** Called with the index of a sentence and its result, as results come. */
  onResult?: (index: number, result: Translation) => void;
  signal?: AbortSignal;
}

export interface Alternative {
  text: string;
  /** The log-probability divided by the length penalty. */
  score: number;
  /** The ids of the tokens. */
  tokens: number[];
}

export interface Translation extends Alternative {
  /** The reason why the translation ends. */
  finish: string;
  /** Between 0 and 1; null for a model that was not calibrated. */
  confidence: number | null;
  /** Reasons to doubt the translation. */
  doubts: string[];
  /** As many as `n_best`, the best first. */
  alternatives: Alternative[];
  /** Pairs of ranges `[[start, end] in the source, [start, end] in the translation]`, in units of JavaScript's strings. */
  alignment?: [[number, number], [number, number]][];
}

/** Formats of documents. An extension of a file stands for one as well. */
export type Format =
  | "text" | "html" | "markdown" | "srt" | "ass" | "po" | "xliff" | "tmx" | "json" | "yaml"
  | "properties" | "android" | "strings" | "fluent" | "qt" | "resx" | "xcstrings" | "stringsdict" | "ipynb"
  | "docx" | "pptx" | "xlsx" | "odt" | "odp" | "ods" | "epub" | (string & {});

export interface DocumentOptions extends Omit<TranslateOptions, "alignment" | "onResult"> {
  /** Called with the sentences that are translated and those known so far. */
  progress?: (done: number, total: number) => void;
  /** Called with sentences of the document before they are translated. */
  onSentences?: (sentences: string[]) => void;
}

export interface Detection {
  /** The code, as `languages` has it if it is one of them. */
  language: string;
  /** Between 0 and 1. */
  confidence: number;
}

/**
 * The `code` of an error:
 * - `ERR_ARGUMENT`: a wrong argument or option;
 * - `ERR_NETWORK`: a file that could not be fetched or read;
 * - `ERR_MODEL`: files that are no whole model directory, or a model that is too large;
 * - `ERR_TEXT`: a sentence that cannot be translated, for example because it is too long;
 * - `ERR_DOCUMENT`: a document of an unknown format, a damaged or a too large one;
 * - `ERR_ENDED`: the translator has ended and must be loaded again.
 */
export type ErrorCode =
  | "ERR_ARGUMENT"
  | "ERR_NETWORK"
  | "ERR_MODEL"
  | "ERR_TEXT"
  | "ERR_DOCUMENT"
  | "ERR_ENDED";

/** The errors that reject the promises of a `Translator`, but for the reason of an `AbortSignal`. */
export interface TranslatorError extends Error {
  code: ErrorCode;
}

/** A model that translates in workers. Errors reject promises with a {@link TranslatorError}. */
export class Translator {
  private constructor();
  static load(source: Source, options?: LoadOptions): Promise<Translator>;
  translate(text: string, options?: TranslateOptions): Promise<Translation>;
  translate(texts: string[], options?: TranslateOptions): Promise<Translation[]>;
  /** Translates a whole document and keeps its markup. The format of a `File` is by default that of its extension. */
  translateDocument(document: string, format?: Format, options?: DocumentOptions): Promise<string>;
  translateDocument(document: Bytes, format?: Format, options?: DocumentOptions): Promise<Uint8Array>;
  /**
   * Translates the text of a page's element in place, with the open shadow roots in it. Its elements stay the same ones,
   * with what listens to them.
   */
  translateElement(element: Element, options?: DocumentOptions): Promise<void>;
  /**
   * The places of the sentences of a plain text, each its beginning and end, as `slice` takes them. A line break ends a
   * sentence, and one that is too long for the model is divided into clauses.
   */
  sentences(text: string, options?: TranslateOptions): Promise<[number, number][]>;
  /**
   * The language of a text: one of `languages` (by default those of the model), unless it is clearly another.
   * Null for a text without words. Markup, code, addresses and numbers do not count.
   */
  detect(text: string, languages?: string[]): Promise<Detection | null>;
  /** Ends the workers and gives their memory back. */
  close(): void;
}
