// The end of a log, in bounded memory. No DOM: its test runs without a browser.

// A log is kept in blocks of lines, so that showing what is new touches the last block only.
export const linesPerBlock = 200;
// maxLine is the longest line that is kept in one piece; a longer one is cut into several.
const maxLine = 4000;

// Colours and cursor movements that programs write for terminals, an unfinished one at the end of a part included.
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])/g;
const unfinished = /\u001b(?:\[[0-?]*[ -/]*|\][^\u0007\u001b]{0,200})?$/;

// LogBuffer keeps the last lines of a log, at most maxLines of them and maxChars characters.
export class LogBuffer {
  constructor({maxLines = 20000, maxChars = 4 << 20} = {}) {
    this.maxLines = maxLines;
    this.maxChars = maxChars;
    this.clear();
  }

  // clear forgets all, as before a log is read anew.
  clear() {
    this.blocks = [];
    this.lines = 0;
    this.chars = 0;
    this.dropped = 0; // lines that were left out at the beginning
    this.open = ''; // the last line, which has no end yet
    this.rest = ''; // an escape sequence that has no end yet
    this.ids = this.ids ?? 0; // of blocks, never used again
  }

  // append takes a part of the log, which may begin and end within a line.
  append(part) {
    let text = (this.rest + part).replace(escapes, '');
    this.rest = '';
    const cut = unfinished.exec(text);
    if (cut) {
      this.rest = cut[0];
      text = text.slice(0, cut.index);
    }
    const pieces = (this.open + text).split('\n');
    this.open = overwritten(pieces.pop());
    for (const piece of pieces) {
      this.addLong(visible(piece));
    }
    while (this.open.length > maxLine) {
      this.addLong(visible(this.open.slice(0, maxLine)));
      this.open = this.open.slice(maxLine);
    }
  }

  // end closes the last line.
  end() {
    if (this.open !== '') {
      this.addLong(visible(this.open));
      this.open = '';
    }
  }

  addLong(line) {
    do {
      this.add(line.slice(0, maxLine));
      line = line.slice(maxLine);
    } while (line !== '');
  }

  add(line) {
    let last = this.blocks[this.blocks.length - 1];
    if (!last || last.lines.length >= linesPerBlock || last.chars >= this.maxChars / 16) {
      last = {id: this.ids++, lines: [], chars: 0, version: 0};
      this.blocks.push(last);
    }
    last.lines.push(line);
    last.chars += line.length + 1;
    last.version++;
    this.lines++;
    this.chars += line.length + 1;
    while (this.blocks.length > 1 && (this.lines - this.blocks[0].lines.length >= this.maxLines || this.chars > this.maxChars)) {
      const first = this.blocks.shift();
      this.lines -= first.lines.length;
      this.chars -= first.chars;
      this.dropped += first.lines.length;
    }
  }

  // snapshot is the log as it is now, which later parts do not change. What has not changed since the snapshot before is shared with it.
  snapshot(before) {
    const known = new Map((before ? before.blocks : []).map((b) => [b.id, b]));
    const blocks = this.blocks.map((b) => {
      const old = known.get(b.id);
      return old && old.version === b.version ? old : {id: b.id, version: b.version, lines: b.lines.slice()};
    });
    return {blocks, open: visible(this.open), dropped: this.dropped, lines: this.lines};
  }
}

// find returns the lines of blocks in which a text stands, in any case: {block, line} of at most limit lines, and whether there are more.
export function find(blocks, text, limit = 2000) {
  const wanted = text.toLowerCase();
  const found = [];
  if (wanted === '') {
    return {found, more: false};
  }
  for (const block of blocks) {
    for (let line = 0; line < block.lines.length; line++) {
      if (block.lines[line].toLowerCase().includes(wanted)) {
        if (found.length === limit) {
          return {found, more: true};
        }
        found.push({block: block.id, line});
      }
    }
  }
  return {found, more: false};
}

// overwritten leaves out of an open line what a progress bar has written over already.
function overwritten(line) {
  const at = line.lastIndexOf('\r', line.length - 2);
  return at < 0 || line.length < 2 ? line : line.slice(at + 1);
}

// visible is what a terminal shows of a line: a progress bar writes over itself.
function visible(line) {
  const text = line.endsWith('\r') ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf('\r') + 1);
}

// split cuts a line at the first places, at most limit, where a text stands in it: the odd parts are those.
export function split(line, text, limit = 20) {
  const parts = [];
  const lower = line.toLowerCase();
  const wanted = text.toLowerCase();
  let from = 0;
  if (lower.length !== line.length) {
    return [line]; // a script whose small letters are longer: places would be wrong
  }
  for (let at = lower.indexOf(wanted); wanted !== '' && at >= 0 && parts.length < 2 * limit; at = lower.indexOf(wanted, from)) {
    parts.push(line.slice(from, at), line.slice(at, at + wanted.length));
    from = at + wanted.length;
  }
  parts.push(line.slice(from));
  return parts;
}
