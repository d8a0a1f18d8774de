// The pieces that pages are made of.
import {Component, createContext, h, html, render, useCallback, useContext, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef,
  useState} from '../vendor/preact-htm.js';
import {Link, navigate, setQuery} from './router.js';

export {Component, createContext, h, html, render, useCallback, useContext, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useReducer, useRef, useState};

// cls joins names of classes; what is falsy is left out.
export const cls = (...names) => names.filter(Boolean).join(' ');

let ids = 0;

// useID returns an id for this instance of a component.
export const useID = (prefix = 'id') => useMemo(() => `${prefix}-${++ids}`, []);

// Button. kind is primary, danger, quiet or nothing; busy shows that its work goes on, and keeps it from being pressed again.
export function Button({kind = '', busy = false, disabled = false, children, class: className, type = 'button', ...rest}) {
  return html`<button type=${type} class=${cls('button', kind, className)} disabled=${disabled || busy} aria-busy=${busy ? 'true' : undefined} ...${rest}>
    ${busy && html`<span class="spin" aria-hidden="true" />`}${children}</button>`;
}

// Dialog is modal while it is there; onClose is called for Escape and the like, too. The focus goes back to where it was.
export function Dialog({title, onClose, children, footer, wide = false}) {
  const ref = useRef(null);
  const label = useID('dialog');
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    return () => dialog.close(); // which gives the focus back
  }, []);
  const outside = (e) => { if (e.target === ref.current) onClose(); };
  return html`<dialog ref=${ref} class=${cls('dialog', wide && 'wide')} aria-labelledby=${label} onCancel=${(e) => { e.preventDefault(); onClose(); }} onMouseDown=${outside}>
    <div class="dialog-body">
      <div class="dialog-head"><h2 id=${label}>${title}</h2><button type="button" class="icon" aria-label="Close" onClick=${onClose}>✕</button></div>
      <div class="dialog-content">${children}</div>
      ${footer && html`<div class="dialog-foot">${footer}</div>`}
    </div>
  </dialog>`;
}

// Confirm asks before something is done. With typed the user has to type that text. onConfirm may return a promise; its error is shown, and the dialog stays.
export function Confirm({title, children, action = 'Confirm', danger = false, typed = '', onConfirm, onClose}) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const [text, setText] = useState('');
  const input = useID('confirm');
  const form = useID('confirm-form');
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
      onClose();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  const footer = html`<${Button} onClick=${onClose}>Cancel<//>
    <${Button} type="submit" form=${form} kind=${danger ? 'danger' : 'primary'} busy=${busy} disabled=${typed !== '' && text !== typed}>${action}<//>`;
  return html`<${Dialog} title=${title} onClose=${onClose} footer=${footer}>
    <form id=${form} onSubmit=${submit}>
      ${children}
      ${typed && html`<p class="field"><label for=${input}>Type <code>${typed}</code> to confirm</label>
        <input id=${input} class="input" value=${text} autocomplete="off" spellcheck=${false} onInput=${(e) => setText(e.target.value)} /></p>`}
      <${ErrorBox} error=${error} />
    </form>
  <//>`;
}

// Spinner says that something is being loaded.
export const Spinner = ({label = 'Loading'}) => html`<div class="spinner" role="status"><span class="spin" aria-hidden="true" />${label}…</div>`;

// ErrorBox shows an error; nothing for null. What is wrong with single fields stands below the message.
export function ErrorBox({error, title, onRetry}) {
  if (!error) return null;
  const violations = error.violations ?? [];
  const message = violations.length ? (violations.length === 1 ? 'One field is not as it must be.' : `${violations.length} fields are not as they must be.`) : error.message;
  return html`<div class="error-box" role="alert">
    <div class="error-head">${title && html`<strong>${title}</strong>`}<span>${message}</span></div>
    ${violations.length > 0 && html`<ul>${violations.map((v) => html`<li>${v.field && html`<code>${v.field}</code> `}${v.description}</li>`)}</ul>`}
    ${(error.reason || error.requestID) && html`<p class="error-foot">${error.reason}${error.requestID && html` · request <code>${error.requestID}</code>`}</p>`}
    ${onRetry && html`<${Button} onClick=${onRetry}>Try again<//>`}
  </div>`;
}

// Warnings shows what the API server or the rules warn of.
export const Warnings = ({warnings}) => !warnings?.length ? null : html`<div class="warning-box" role="status">
  <ul>${warnings.map((text) => html`<li>${text}</li>`)}</ul></div>`;

// Empty says that there is nothing, and what one may do about it.
export const Empty = ({title, children, level = 2}) => html`<div class="empty">${h('h' + level, {}, title)}${children && html`<div class="empty-more">${children}</div>`}</div>`;

// Badge is a state in a word. tone is ok, busy, warn, error or idle; it is never told by colour alone.
export const Badge = ({tone = 'idle', children, title}) => html`<span class=${cls('badge', tone)} title=${title}><span class="dot" aria-hidden="true" />${children}</span>`;

// Tabs are links to parts of a page. tabs are [{id, label, count}].
export function Tabs({tabs, active, to, label = 'Parts of this page'}) {
  return html`<nav class="tabs" aria-label=${label}>${tabs.map((t) => html`<${Link} key=${t.id} to=${to(t.id)} aria-current=${t.id === active ? 'page' : undefined}>
    ${t.label}${t.count !== undefined && html` <span class="count">${t.count}</span>`}<//>`)}</nav>`;
}

const units = [['d', 86400], ['h', 3600], ['m', 60], ['s', 1]];

// ageText is a duration of seconds in at most two units, as kubectl writes it.
export function ageText(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const at = units.findIndex(([, size]) => s >= size);
  if (at < 0) return '0s';
  const [unit, size] = units[at];
  const count = Math.floor(s / size);
  if (count >= 10 || at === units.length - 1) return `${count}${unit}`;
  const [lower, lowerSize] = units[at + 1];
  const rest = Math.floor((s % size) / lowerSize);
  return rest ? `${count}${unit}${rest}${lower}` : `${count}${unit}`;
}

// One timer for all times on a page.
const ticking = new Set();
setInterval(() => ticking.forEach((update) => update()), 5000);

// Time shows how long ago a time was, or how far it is away, and the time itself as its title. Where no heading says that it is an age, ago does.
export function Time({at, ago = false}) {
  const text = () => {
    const seconds = (Date.now() - new Date(at)) / 1000;
    return seconds < -1 ? 'in ' + ageText(-seconds) : ageText(seconds) + (ago ? ' ago' : '');
  };
  const [, tick] = useReducer((n) => n + 1, 0);
  const shown = useRef('');
  useEffect(() => {
    if (!at) return undefined;
    const update = () => { if (text() !== shown.current) tick(); };
    ticking.add(update);
    return () => ticking.delete(update);
  }, [at]);
  if (!at) return html`<span class="muted">–</span>`;
  shown.current = text();
  return html`<time datetime=${at} title=${new Date(at).toLocaleString()}>${shown.current}</time>`;
}

let showToast = () => {};

// toast says in passing what became of something; screen readers read it out. tone is ok or error.
export const toast = (text, tone = 'ok') => showToast({text, tone, id: ++ids});

// Toasts is where toasts appear, once on a page.
export function Toasts() {
  const [all, setAll] = useState([]);
  showToast = (t) => {
    setAll((shown) => [...shown.slice(-3), t]);
    setTimeout(() => setAll((shown) => shown.filter((o) => o.id !== t.id)), 6000);
  };
  return html`<div class="toasts" role="status" aria-live="polite">${all.map((t) => html`<div key=${t.id} class=${cls('toast', t.tone)}>${t.text}</div>`)}</div>`;
}

// isTyping tells whether a key event belongs to a field.
export const isTyping = (e) => e.target.closest?.('input, textarea, select, [contenteditable], dialog') !== null;

// useKeys binds single keys on a page: {'/': fn, ...}. Keys that are typed into fields, or pressed with Ctrl and the like, are left alone.
export function useKeys(keys) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (e) => {
      if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || isTyping(e)) return;
      const run = latest.current[e.key];
      if (!run) return;
      e.preventDefault();
      run(e);
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, []);
}

// useTitle names the page in the browser's tab.
export function useTitle(title) {
  useEffect(() => { document.title = title ? `${title} · raygate` : 'raygate'; }, [title]);
}

export {Link, navigate, setQuery};
