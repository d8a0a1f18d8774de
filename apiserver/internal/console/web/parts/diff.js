// The difference between two texts, by lines. No DOM: its test runs without a browser.

// maxCells bounds the work: of texts that differ in more, all between the first and the last difference counts as replaced.
const maxCells = 4000000;

// diffOf returns the lines of both texts as {kind: ' ' | '-' | '+', text}, without the lines that are more than context lines away from any difference.
export function diffOf(before, after, context = 3) {
  const a = before.split('\n');
  const b = after.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) {
    start++;
  }
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) {
    end++;
  }
  const same = (lines) => lines.map((text) => ({kind: ' ', text}));
  const all = [...same(a.slice(0, start)), ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)), ...same(a.slice(a.length - end))];
  const near = new Array(all.length).fill(false);
  all.forEach((line, i) => {
    if (line.kind !== ' ') {
      near.fill(true, Math.max(0, i - context), Math.min(all.length, i + context + 1));
    }
  });
  return all.filter((_, i) => near[i]);
}

// middle finds the longest common subsequence of lines.
function middle(a, b) {
  const removed = a.map((text) => ({kind: '-', text}));
  const added = b.map((text) => ({kind: '+', text}));
  if (a.length === 0 || b.length === 0 || a.length * b.length > maxCells) {
    return [...removed, ...added];
  }
  const width = b.length + 1;
  const best = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i] === b[j] ? best[(i + 1) * width + j + 1] + 1 : Math.max(best[(i + 1) * width + j], best[i * width + j + 1]);
    }
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({kind: ' ', text: a[i++]});
      j++;
    } else if (j >= b.length || i < a.length && best[(i + 1) * width + j] >= best[i * width + j + 1]) {
      out.push(removed[i++]);
    } else {
      out.push(added[j++]);
    }
  }
  return out;
}
