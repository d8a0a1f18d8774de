// The problems of a text that the server reports, and their positions. No DOM: its test runs without a browser.

// violationsOf returns the mistakes that an error of the API names; an error that names none is one itself.
export function violationsOf(error) {
  const violations = error.violations || [];
  if (violations.length > 0) {
    return violations.map((v) => ({severity: 'error', field: fieldOf(v.field), message: v.description, rule: v.reason || ''}));
  }
  return [{severity: 'error', field: '', message: error.message || 'The server gave no reason.', rule: ''}];
}

// fieldOf leaves out what stands for the document as a whole.
function fieldOf(field) {
  return !field || field === '<nil>' ? '' : field;
}

const warningForm = /^([\w-]+(?:[.[][^\s:]*)?): ([^]*) \(([\w./-]+)\)$/;

// warningOf takes a warning apart that has the form "field: message (rule)"; any other is a message.
export function warningOf(text) {
  const found = warningForm.exec(text);
  if (!found) {
    return {severity: 'warning', field: '', message: text, rule: ''};
  }
  return {severity: 'warning', field: found[1], message: found[2], rule: found[3]};
}

const place = /(?:^|: )line (\d+)(?:, column (\d+))?(?::|$)/;

// placeIn returns the line that a message names itself: of a syntax error, or of the second of two equal keys.
export function placeIn(message) {
  const found = place.exec(message);
  return found ? {line: Number(found[1]), column: Number(found[2] || 1)} : null;
}

// fieldsOf returns the paths whose lines the server has to find, each once.
export function fieldsOf(problems) {
  return [...new Set(problems.filter((p) => p.field && !placeIn(p.message)).map((p) => p.field))];
}

// located adds lines to problems and sorts them: errors first, each in the order of the text. A problem without a place is one of the whole text and has
// line 0.
export function located(problems, positions) {
  const rank = (p) => (p.severity === 'error' ? 0 : 1);
  return problems
    .map((p) => ({...p, ...(placeIn(p.message) || positions[p.field] || {line: 0, column: 0})}))
    .map((p, order) => ({...p, order}))
    .sort((a, b) => rank(a) - rank(b) || a.line - b.line || a.column - b.column || a.order - b.order);
}

// offsetOf returns where a line and column begin in a text, in the units of a textarea. A line beyond the end is the end.
export function offsetOf(text, line, column) {
  let start = 0;
  for (let n = 1; n < line; n++) {
    const end = text.indexOf('\n', start);
    if (end < 0) {
      return text.length;
    }
    start = end + 1;
  }
  const end = text.indexOf('\n', start);
  const whole = text.slice(start, end < 0 ? text.length : end);
  return start + [...whole].slice(0, Math.max(0, column - 1)).join('').length;
}

// runsOf cuts a text into runs of lines with and without marks, so that an editor renders a few elements and not one for each line. marks maps lines
// to severities.
export function runsOf(text, marks) {
  const lines = text.split('\n');
  const runs = [];
  let from = 0;
  for (const line of [...marks.keys()].filter((n) => n >= 1 && n <= lines.length).sort((a, b) => a - b)) {
    if (line - 1 > from) {
      runs.push({first: from + 1, count: line - 1 - from, text: lines.slice(from, line - 1).join('\n'), severity: ''});
    }
    runs.push({first: line, count: 1, text: lines[line - 1], severity: marks.get(line)});
    from = line;
  }
  if (from < lines.length) {
    runs.push({first: from + 1, count: lines.length - from, text: lines.slice(from).join('\n'), severity: ''});
  }
  return runs;
}

// marksOf maps lines to the worst severity there.
export function marksOf(problems) {
  const marks = new Map();
  for (const p of problems) {
    if (p.line > 0 && marks.get(p.line) !== 'error') {
      marks.set(p.line, p.severity);
    }
  }
  return marks;
}

// summaryOf says in a sentence how many problems there are.
export function summaryOf(problems) {
  const errors = problems.filter((p) => p.severity === 'error').length;
  const warnings = problems.length - errors;
  const count = (n, noun) => `${n} ${noun}${n === 1 ? '' : 's'}`;
  const parts = [];
  if (errors > 0) {
    parts.push(count(errors, 'mistake'));
  }
  if (warnings > 0) {
    parts.push(count(warnings, 'warning'));
  }
  return parts.length === 0 ? 'No mistakes.' : parts.join(' and ') + '.';
}

// sentence ends a text as one.
export const sentence = (text) => (/[.!?…]$/.test(text) ? text : text + '.');

// problemsOf makes problems of an error that is about the text; null for any other. code has the codes by name.
export function problemsOf(error, code) {
  switch (error.code) {
    case code.INVALID_ARGUMENT:
      return [...violationsOf(error), ...(error.warnings || []).map(warningOf)];
    case code.ALREADY_EXISTS:
      return [{severity: 'error', field: 'metadata.name', message: error.message, rule: ''}];
    case code.RESOURCE_EXHAUSTED: // a quota of the namespace, or the size of the text; all else of that code passes
      return ['QUOTA_EXCEEDED', 'TOO_LARGE'].includes(error.reason) ? [{severity: 'error', field: '', message: error.message, rule: error.reason}] : null;
    default:
      return null;
  }
}

// mayPass tells whether the same question may be answered later.
export const mayPass = (error, code) => [code.RESOURCE_EXHAUSTED, code.UNAVAILABLE, code.DEADLINE_EXCEEDED].includes(error.code);
