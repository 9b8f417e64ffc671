#!/usr/bin/env bash
# messageformat 4.0.0 (npm), MessageFormat 2: a string put into a message comes with two invisible
# characters around it (U+2068, U+2069), a number does not; blanks around a message are kept.
#
# Expected: "Hello Tom, 5" (12 characters), as with MessageFormat 1.
# Seen: 14 characters. A test for an equal string, a search and a length limit all fail.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit messageformat@4.0.0 intl-messageformat@12.1.5
cat > run.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { MessageFormat } from "messageformat";
import { IntlMessageFormat } from "intl-messageformat";

const values = { name: "Tom", n: 5 };
const first = new IntlMessageFormat("Hello {name}, {n, number}", "en").format(values);
const second = new MessageFormat("en", "Hello {$name}, {$n :number}").format(values);
const options = { bidiIsolation: "none" };
const plain = new MessageFormat("en", "Hello {$name}, {$n :number}", options).format(values);
console.log(first.length, second.length, plain.length, escape(second));
assert.equal(first, "Hello Tom, 5");
assert.equal(second, "Hello \u2068Tom\u2069, 5");
assert.equal(plain, first);
JAVASCRIPT
node run.mjs
