#!/usr/bin/env bash
# i18next 26.7.2 (npm): a count given as a string, as a form or a query gives it, shows the name of
# the key; a variable that is undefined is shown as nothing, one that is not given as {{name}}.
#
# Expected: "1 file", as {{count}} of a message without plural forms takes a string.
# Seen: "files" (the key); "Hello !" and "Hello {{name}}!".
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit i18next@26.7.2
cat > run.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import i18next from "i18next";

const translation = {
  files_one: "{{count}} file",
  files_other: "{{count}} files",
  hello: "Hello {{name}}!",
};
await i18next.init({ lng: "en", resources: { en: { translation } } });
const number = i18next.t("files", { count: 1 });
const string = i18next.t("files", { count: "1" });
const none = i18next.t("hello");
const undefinedName = i18next.t("hello", { name: undefined });
console.log({ number, string, none, undefinedName });
assert.equal(number, "1 file");
assert.equal(string, "files");
assert.equal(none, "Hello {{name}}!");
assert.equal(undefinedName, "Hello !");
JAVASCRIPT
node run.mjs
