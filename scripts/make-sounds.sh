#!/usr/bin/env bash
# Makes the sounds of one language from its texts: sounds/<language>/texts.yaml -> sounds/<language>/<name>.wav,
# 8 kHz, 16 bit, mono. Texts in parentheses are no speech: beep and silence/<seconds> are made as signals.
#
#   scripts/make-sounds.sh [language]        needs espeak-ng and sox (apt-get install -y espeak-ng sox)
set -euo pipefail

language="${1:-en}"
directory="$(cd "$(dirname "$0")/.." && pwd)/sounds/$language"
for tool in espeak-ng sox; do
  command -v "$tool" >/dev/null || { echo "$tool is missing: apt-get install -y espeak-ng sox" >&2; exit 1; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# -D: no dither, so that the same text always gives the same file.
shape=(-D -r 8000 -c 1 -b 16 -e signed-integer)

speak() { # name text
  espeak-ng -v "$language" -s 150 -g 2 -w "$work/spoken.wav" -- "$2"
  # Band of a telephone, silence cut at both ends down to 30 ms, the same loudness for all.
  sox -D "$work/spoken.wav" "${shape[@]}" "$directory/$1.wav" \
    highpass 150 lowpass 3600 \
    silence 1 0.005 0.2% reverse silence 1 0.005 0.2% reverse \
    pad 0.03 0.03 gain -n -4
}

while IFS= read -r line; do
  [[ "$line" =~ ^[[:space:]]*(#|$) ]] && continue
  name="${line%%: *}"
  text="${line#*: }"
  mkdir -p "$directory/$(dirname "$name")"
  case "$name" in
    beep) sox -D -n "${shape[@]}" "$directory/$name.wav" synth 0.25 sine 1000 fade t 0.01 0.25 0.01 gain -10 ;;
    silence/*) sox -D -n "${shape[@]}" "$directory/$name.wav" trim 0 "${name#silence/}" ;;
    *) speak "$name" "$text" ;;
  esac
done <"$directory/texts.yaml"
