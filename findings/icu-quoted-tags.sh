#!/usr/bin/env bash
# @formatjs/icu-messageformat-parser 3.5.23 and @messageformat/parser 5.2.0 (npm): the same ICU
# message with a tag in apostrophes has two texts.
#
# Seen: formatjs reads `Use '<b>' now` as `Use <b> now`, since an apostrophe before `<` begins a
# quotation there. messageformat reads `Use '<b>' now`, as ICU 72.1 does, which quotes only braces,
# and `#` in a plural.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-save @formatjs/icu-messageformat-parser@3.5.23 @messageformat/parser@5.2.0
node - <<'JS'
const assert = require("assert");
const formatjs = require("@formatjs/icu-messageformat-parser");
const messageformat = require("@messageformat/parser");
const message = "Use '<b>' now";
const [one] = formatjs.parse(message);
const [other] = messageformat.parse(message);
console.log("formatjs:", one.value);
console.log("messageformat:", other.value);
assert.strictEqual(one.value, "Use <b> now");
assert.strictEqual(other.value, "Use '<b>' now");
JS
