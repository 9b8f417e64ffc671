// The errors of the package. Each has a `code`, which programs compare, and a message for people.

/** A wrong argument or option. */
export const ARGUMENT = "ERR_ARGUMENT";
/** A file that could not be fetched or read. */
export const NETWORK = "ERR_NETWORK";
/** Files that are no whole model directory, or a model that a page cannot hold. */
export const MODEL = "ERR_MODEL";
/** A sentence that cannot be translated, for example because it is too long. */
export const TEXT = "ERR_TEXT";
/** A document of an unknown format, a damaged or a too large one. */
export const DOCUMENT = "ERR_DOCUMENT";
/** The translator has ended and must be loaded again. */
export const ENDED = "ERR_ENDED";

/** An error of the kind `code`. */
export function failure(code, message, cause) {
  const Kind = code === ARGUMENT ? TypeError : Error;
  return Object.assign(new Kind(message, { cause }), { code });
}
