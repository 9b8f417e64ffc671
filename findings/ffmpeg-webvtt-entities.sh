#!/usr/bin/env bash
# ffmpeg 9.0.2 (in imageio-ffmpeg 0.8.1 of PyPI): WebVTT's entities do not survive a copy from
# WebVTT to WebVTT, and a no-break space becomes the two characters \h, in SubRip too.
#
# Expected: "if a &lt;b&gt; c &amp; d&nbsp;e" is written as it was read.
# Seen: "if a <b> c & d\he": for the next reader the text <b> is a tag, and what follows is bold.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check imageio-ffmpeg==0.8.1
"$folder/venv/bin/python" - <<'PYTHON'
import subprocess

import imageio_ffmpeg

program = imageio_ffmpeg.get_ffmpeg_exe()
cue = "WEBVTT\n\n00:01.000 --> 00:02.000\nif a &lt;b&gt; c &amp; d&nbsp;e\n"


def converted(text, kind):
    command = [program, "-v", "error", "-f", "webvtt", "-i", "-", "-f", kind, "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


print("ffmpeg", imageio_ffmpeg.get_ffmpeg_version())
webvtt = converted(cue, "webvtt")
subrip = converted(cue, "srt")
again = converted(converted(cue.replace("&nbsp;", " "), "webvtt"), "srt")
print(webvtt, subrip, "read again:", again, sep="\n")
assert "if a <b> c & d\\he" in webvtt
assert "if a <b> c & d\\he" in subrip
assert "if a <b> c & d e</b>" in again
PYTHON
