// The clipboard.

/** Copies a text. Pages of `http:` that come from another machine have no `navigator.clipboard`, and copy what is selected. */
export async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  const before = document.activeElement;
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand("copy");
  field.remove();
  before?.focus();
}
