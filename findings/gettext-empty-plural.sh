#!/usr/bin/env bash
# gettext 0.21 (Debian): a plural form without a text passes msgfmt --check, and the program shows
# nothing for it.
#
# Expected: msgfmt complains, or leaves the entry out, and the user sees the English plural.
# Seen: exit status 0, and ngettext prints an empty line for 2 files. Without any form it prints
# the English text.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
msgfmt --version | head -n 1
mkdir -p "$folder/de/LC_MESSAGES"
cat > "$folder/app.po" <<'PO'
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=n!=1;\n"

msgid "one file"
msgid_plural "many files"
msgstr[0] "eine Datei"
msgstr[1] ""

msgid "one folder"
msgid_plural "many folders"
msgstr[0] ""
msgstr[1] ""
PO
msgfmt --check-format --statistics "$folder/app.po" -o "$folder/de/LC_MESSAGES/app.mo"
export LC_ALL=C.UTF-8 LANGUAGE=de TEXTDOMAINDIR="$folder" TEXTDOMAIN=app
one=$(ngettext "one file" "many files" 1)
two=$(ngettext "one file" "many files" 2)
folders=$(ngettext "one folder" "many folders" 2)
echo "1: '$one', 2: '$two', folders: '$folders'"
[ "$one" = "eine Datei" ]
[ "$two" = "" ]
[ "$folders" = "many folders" ]
