#!/usr/bin/env bash
# Copies the files of the repository as they are now to a folder, in which those that have not changed since the last time keep their times:
#
#	hack/tree.sh FOLDER
#
# Go's cache of results of tests goes by the paths and the times of the files that tests read. In a fresh clone all are new, in such a folder they are not.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$1
index=$(mktemp)
trap 'rm -f "$index"' EXIT
cp "$(git rev-parse --git-path index)" "$index"
GIT_INDEX_FILE=$index git add --all
files=$(GIT_INDEX_FILE=$index git write-tree)
mkdir -p "$folder"
GIT_INDEX_FILE=$folder.index git --work-tree="$folder" read-tree --reset -u "$files"
