#!/usr/bin/env bash
# Counts the words of the documents without generated references: hack/words.sh [FILE...]. It prints the words of each page, the longest page last, and the sum.
# A word has a letter; figures in tables are none. Not counted: pages that a generator writes (kinds.md, device-registry.md, validation.md, reference.md, metrics.md), generated parts of other pages
# ("<!-- flags: generated -->" to "<!-- end -->"), comments, and blocks of code, which the second column counts.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# = 0 ]; then
	mapfile -t pages < <(git ls-files README.md 'docs/*.md' ':!docs/kinds.md' ':!docs/device-registry.md' ':!docs/validation.md' ':!docs/reference.md' ':!docs/metrics.md')
	set -- "${pages[@]}"
fi
awk '
	function count(    n, i) {
		for (i = 1; i <= NF; i++)
			n += $i ~ /[[:alpha:]]/
		return n
	}
	FNR == 1 { generated = fenced = 0; blank = 1 }
	/^<!-- [a-z ]+: generated -->/ { generated = 1 }
	/^<!-- end -->/ { generated = 0 }
	/^<!--/ { comment = 1 }
	!generated && !comment {
		if (/^```/) fenced = !fenced
		else if (fenced || /^    / && (blank || indented)) { code[FILENAME] += count(); indented = 1 }
		else { words[FILENAME] += count(); if (NF) indented = 0 }
		blank = !NF
	}
	/-->/ { comment = 0; blank = 1 }
	END {
		for (page in words) {
			printf "%7d %6d %s\n", words[page], code[page], page | "sort -n"
			sum += words[page]
			commands += code[page]
		}
		close("sort -n")
		printf "%7d %6d words and words of code in all\n", sum, commands
	}
' "$@"
