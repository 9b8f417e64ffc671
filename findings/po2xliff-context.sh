#!/usr/bin/env bash
# translate-toolkit 3.20.4 (PyPI): po2xliff leaves contexts (msgctxt) out and takes obsolete
# entries for living, approved ones.
#
# Expected: po2xliff and back gives the same entries.
# Seen: of two entries "May" with two contexts one comes back, with an empty context; the entry
# "#~ Old" is alive.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check translate-toolkit==3.20.4
cd "$folder"
cat > app.po <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Language: de\n"

msgctxt "month"
msgid "May"
msgstr "Mai"

msgctxt "verb"
msgid "May"
msgstr "Darf"

#~ msgid "Old"
#~ msgstr "Alt"
PO
venv/bin/po2xliff --progress=none app.po app.xlf
venv/bin/xliff2po --progress=none app.xlf back.po
sed -n '/^msgctxt/,$p' back.po
[ "$(grep -c '<source>May' app.xlf)" = 2 ]
[ "$(grep -c '^msgid "May"' back.po)" = 1 ]
[ "$(grep -c '^msgctxt' back.po)" = 1 ]
[ "$(grep -c '^msgctxt ""' back.po)" = 1 ]
[ "$(grep -c '^msgid "Old"' back.po)" = 1 ]
grep -B 1 '<source>Old' app.xlf | grep 'approved="yes"'
