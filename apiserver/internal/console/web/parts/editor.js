// A text with the mistakes in it marked at their lines.
import {Button, html, useEffect, useID, useMemo, useRef} from '../lib/ui.js';
import {marksOf, offsetOf, runsOf, sentence, summaryOf} from './problems.js';

const maxShown = 50;

// Editor edits YAML. problems and state are those of useCheck; onSubmit is for Ctrl+Enter. handle, if given, is a ref that gets {show(problem)}.
export function Editor({label, value, onInput, problems = [], state = 'idle', error = null, onAgain, onSubmit, handle, readOnly = false}) {
  const id = useID('editor');
  const area = useRef(null);
  const gutter = useRef(null);
  const backdrop = useRef(null);
  const marks = useMemo(() => marksOf(problems), [problems]);
  const runs = useMemo(() => runsOf(value, marks), [value, marks]);
  const scroll = () => {
    gutter.current.scrollTop = area.current.scrollTop;
    backdrop.current.scrollTop = area.current.scrollTop;
    backdrop.current.scrollLeft = area.current.scrollLeft;
  };
  useEffect(scroll, [runs]);
  const show = (problem) => {
    const from = offsetOf(value, problem.line, problem.column);
    const end = value.indexOf('\n', from);
    area.current.focus();
    area.current.setSelectionRange(from, end < 0 ? value.length : end);
    const height = Number.parseFloat(getComputedStyle(area.current).lineHeight) || 18;
    area.current.scrollTop = Math.max(0, (problem.line - 4) * height);
    area.current.scrollLeft = 0;
    scroll();
  };
  if (handle) {
    handle.current = {show};
  }
  const step = (back) => {
    const placed = problems.filter((p) => p.line > 0).sort((a, b) => a.line - b.line);
    const at = value.slice(0, area.current.selectionStart).split('\n').length;
    const next = back ? placed.filter((p) => p.line < at).pop() ?? placed[placed.length - 1] : placed.find((p) => p.line > at) ?? placed[0];
    if (next) {
      show(next);
    }
  };
  const keydown = (e) => {
    if (e.key === 'Enter' && (e.ctrlKey || e.metaKey)) {
      e.preventDefault();
      onSubmit?.();
    } else if (e.key === 'F8') {
      e.preventDefault();
      step(e.shiftKey);
    } else if (e.key === 'Enter' && !e.isComposing && !e.shiftKey && !e.altKey) {
      breakLine(e);
    }
  };
  return html`<div class="editor">
    <label class="editor-label" for=${id}>${label}</label>
    <div class=${'editor-frame' + (marks.size ? ' has-marks' : '')}>
      <div class="editor-gutter" aria-hidden="true" ref=${gutter}>${runs.map((r) => html`<div key=${r.first} class=${r.severity && 'mark-' + r.severity}>${numbers(r)}</div>`)}</div>
      <div class="editor-body">
        <div class="editor-marks" aria-hidden="true" ref=${backdrop}>${runs.map((r) => html`<div key=${r.first} class=${r.severity && 'mark-' + r.severity}>${r.text + '\n'}</div>`)}</div>
        <textarea id=${id} ref=${area} class="editor-text" value=${value} wrap="off" spellcheck=${false} autocomplete="off" autocapitalize="off" autocorrect="off"
          readOnly=${readOnly} aria-invalid=${problems.some((p) => p.severity === 'error')} aria-describedby=${id + '-state ' + id + '-keys'} aria-keyshortcuts="F8 Shift+F8 Control+Enter"
          onInput=${(e) => onInput?.(e.currentTarget.value)} onScroll=${scroll} onKeyDown=${keydown}></textarea>
      </div>
    </div>
    <p class="editor-foot"><span id=${id + '-state'} role="status" class=${'editor-state is-' + state}>${stateText(state, problems, error)}</span>
      ${state === 'refused' && onAgain && html`<${Button} kind="quiet" onClick=${onAgain}>Check again<//>`}
      <span id=${id + '-keys'} class="editor-keys">F8 goes to the next mistake, Ctrl+Enter sends.</span></p>
    <${Problems} problems=${problems} onShow=${show} />
  </div>`;
}

// breakLine begins the next line at the depth of this one, and one deeper behind a colon. It is typed, so that it can be undone.
function breakLine(e) {
  const {value, selectionStart} = e.currentTarget;
  const line = value.slice(value.lastIndexOf('\n', selectionStart - 1) + 1, selectionStart);
  const depth = /^ *(?:- +)*/.exec(line)[0].length + (/:\s*$/.test(line) ? 2 : 0);
  if (depth > 0 && document.execCommand('insertText', false, '\n' + ' '.repeat(depth))) {
    e.preventDefault();
  }
}

function numbers(run) {
  let text = '';
  for (let n = run.first; n < run.first + run.count; n++) {
    text += n + '\n';
  }
  return text;
}

function stateText(state, problems, error) {
  switch (state) {
    case 'checking':
      return problems.length > 0 ? summaryOf(problems) : 'Is checked…';
    case 'done':
      return summaryOf(problems);
    case 'away':
      return `Cannot be checked now: ${sentence(error.message)} It is tried again.`;
    case 'refused':
      return error.message;
    default:
      return '';
  }
}

// Problems lists what is wrong; one that has a line leads there.
function Problems({problems, onShow}) {
  if (problems.length === 0) {
    return null;
  }
  return html`<ol class="problems" aria-label="What the server says about the text">
    ${problems.slice(0, maxShown).map((p, i) => html`<li key=${i} class=${'problem is-' + p.severity}>${p.line > 0
      ? html`<button type="button" onClick=${() => onShow(p)}><${Problem} problem=${p} /></button>`
      : html`<div><${Problem} problem=${p} /></div>`}</li>`)}
    ${problems.length > maxShown && html`<li class="problem">and ${problems.length - maxShown} more</li>`}
  </ol>`;
}

function Problem({problem: {severity, line, field, message, rule}}) {
  return html`<span class="problem-place">${severity === 'error' ? 'Mistake' : 'Warning'}${line > 0 && `, line ${line}`}</span>
    ${' '}${field && html`<code class="problem-field">${field}</code>`} <span class="problem-message">${message}</span>${rule && html` <span class="problem-rule">${rule}</span>`}`;
}
