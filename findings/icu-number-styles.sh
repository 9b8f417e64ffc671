#!/usr/bin/env bash
# ICU MessageFormat in intl-messageformat 12.1.5 (npm, formatjs) and in ICU 72.1 (by PyICU 2.17):
# the same message shows another number.
#
# Expected: {n, number, integer} of 2.5 and {n, number, 0.00} of 2 are the same in both.
# Seen: formatjs rounds 2.5 to 3, ICU to 2; formatjs passes over the pattern 0.00 and shows 2, ICU
# keeps the blank before the pattern and shows " 2.00".
#
# The script fails if that changes. It builds PyICU (libicu-dev, g++).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyicu==2.17
cd "$folder"
npm install --silent --no-fund --no-audit intl-messageformat@12.1.5
"$folder/venv/bin/python" - <<'PYTHON'
import icu


def text(message, value):
    pattern = icu.MessageFormat(message, icu.Locale("en"))
    return pattern.format(["n"], [icu.Formattable(value)])


integer = text("{n, number, integer}", 2.5)
places = text("{n, number, 0.00}", 2)
close = text("{n, number,0.00}", 2)
print("ICU", icu.ICU_VERSION, [integer, places, close])
assert [integer, places, close] == ["2", " 2.00", "2.00"]
PYTHON
cat > run.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { IntlMessageFormat } from "intl-messageformat";

const text = (message, n) => new IntlMessageFormat(message, "en").format({ n });
const integer = text("{n, number, integer}", 2.5);
const places = text("{n, number, 0.00}", 2);
const skeleton = text("{n, number, ::.00}", 2);
console.log("formatjs", [integer, places, skeleton]);
assert.deepEqual([integer, places, skeleton], ["3", "2", "2.00"]);
JAVASCRIPT
node run.mjs
