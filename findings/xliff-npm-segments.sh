#!/usr/bin/env bash
# xliff 6.4.0 (npm), which locize and i18next's tools read XLIFF with: of a unit of several segments
# (XLIFF 2.0) only the last is read; a state is not written; XLIFF 1.2 gets line breaks in its text.
#
# Expected: the text of the unit is "First. Second.", and writing keeps what was read.
# Seen: "Second."; state="final" is gone; "Click <g>here</g>" is written on three lines.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit xliff@6.4.0
cat > run.cjs <<'JAVASCRIPT'
const assert = require("node:assert");
const xliff = require("xliff");

const segments = `<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0"
 srcLang="en" trgLang="de"><file id="f"><unit id="u">
<segment state="final"><source>First. </source><target>Erstens. </target></segment>
<segment state="final"><source>Second.</source><target>Zweitens.</target></segment>
</unit></file></xliff>`;
const inline = `<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file
 original="f" source-language="en" target-language="de" datatype="plaintext"><body>
<trans-unit id="u"><source>Click <g id="1">here</g></source></trans-unit>
</body></file></xliff>`;

async function main() {
  const read = await xliff.xliff2js(segments);
  const written = await xliff.js2xliff(read);
  const unit = read.resources.f.u;
  console.log("read:", unit);
  assert.deepEqual(unit, { source: "Second.", target: "Zweitens." });
  assert.ok(!written.includes("final"));
  const second = await xliff.jsToXliff12(await xliff.xliff12ToJs(inline));
  const source = second.match(/<source>[^]*<\/source>/)[0];
  console.log(source);
  assert.match(source, /Click \n\s+<g id="1">here<\/g>\n/);
}
main();
JAVASCRIPT
node run.cjs
