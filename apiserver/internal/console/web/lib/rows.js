// Which rows a list has, and in which order. No DOM: its test runs without a browser.

// matcher makes a test of the text of the filter: every word must be part of some column; column:word asks one column, and ! turns a word round.
export function matcher(text, columns) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
    const not = word.startsWith('!');
    const bare = not ? word.slice(1) : word;
    const at = bare.indexOf(':');
    const column = at > 0 ? columns.find((c) => c.id === bare.slice(0, at)) : undefined;
    return {not, word: column ? bare.slice(at + 1) : bare, columns: column ? [column] : columns.filter((c) => !c.hidden)};
  }).filter((w) => w.word);
  return (object) => words.every((w) => w.columns.some((c) => String(c.value(object)).toLowerCase().includes(w.word)) !== w.not);
}

const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), undefined, {numeric: true}));

// sorted returns the objects in the order that the text says: a column, with - in front the other way round. Ties go by name and namespace.
export function sorted(objects, text, columns) {
  const column = columns.find((c) => c.id === text.replace(/^-/, '')) ?? columns[0];
  const sign = text.startsWith('-') ? -1 : 1;
  const rows = objects.map((object) => ({object, value: column.value(object)}));
  rows.sort((a, b) => sign * compare(a.value, b.value) || compare(a.object.metadata.name, b.object.metadata.name)
    || compare(a.object.metadata.namespace, b.object.metadata.namespace));
  return rows.map((row) => row.object);
}
