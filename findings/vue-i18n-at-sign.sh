#!/usr/bin/env bash
# @intlify/core-base 11.4.2 (npm), which vue-i18n compiles its messages with: an e-mail address in a
# message is a syntax error, and two forms parted by | are chosen otherwise than three.
#
# Expected: only @: and @.name: are links, so "write to a@b.com" is shown as it is.
# Seen: "Invalid linked format". Of "car | cars" the count 0 takes "cars"; of three forms it takes
# the first, in each language.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit @intlify/core-base@11.4.2
cat > run.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { compile, createCoreContext, registerMessageCompiler, translate } from "@intlify/core-base";

registerMessageCompiler(compile);
const context = createCoreContext({
  locale: "fr",
  messages: {
    fr: {
      mail: "write to a@b.com",
      quoted: "write to a{'@'}b.com",
      two: "car | cars",
      three: "none | one | several",
    },
  },
});
let message = "";
try {
  translate(context, "mail");
} catch (error) {
  message = error.message;
}
console.log(message.split("\n")[0]);
assert.match(message, /Invalid linked format/);
assert.equal(translate(context, "quoted"), "write to a@b.com");
const forms = [translate(context, "two", 0), translate(context, "three", 0)];
console.log("forms of 0 in French:", forms);
assert.deepEqual(forms, ["cars", "none"]);
JAVASCRIPT
node run.mjs 2>/dev/null
