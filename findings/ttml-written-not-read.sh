#!/usr/bin/env bash
# ffmpeg 9.0.2 (PyPI: imageio-ffmpeg 0.8.1) writes subtitles in TTML and cannot read TTML, not even
# the file that it has just written.
#
# Expected: `ffmpeg -i film.ttml film.srt` converts the subtitles, as it does with WebVTT.
# Seen: "Invalid data found when processing input", with no decoder of TTML. ttconv 1.2.3 (PyPI)
# reads the same file.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet imageio-ffmpeg==0.8.1 ttconv==1.2.3
ffmpeg=$("$folder/venv/bin/python" -c 'import imageio_ffmpeg; print(imageio_ffmpeg.get_ffmpeg_exe())')
cd "$folder"
"$ffmpeg" -version | head -n 1
printf '1\n00:00:01,000 --> 00:00:02,000\nHello there\n' > first.srt
for end in vtt ttml; do
    "$ffmpeg" -v error -i first.srt "film.$end"
done
"$ffmpeg" -v error -i film.vtt from-vtt.srt
echo "WebVTT, written and read: $(grep -c 'Hello there' from-vtt.srt) subtitle"
if "$ffmpeg" -v error -i film.ttml from-ttml.srt 2> said; then
    echo "ffmpeg reads TTML now"
    exit 1
fi
echo "TTML, written and read: $(tail -n 1 said)"
grep -q 'Invalid data found' said
venv/bin/tt convert -i film.ttml -o from-ttconv.srt > /dev/null 2>&1
echo "TTML, read by ttconv: $(grep -c 'Hello there' from-ttconv.srt) subtitle"
