// The log of a job: followed, searched, in bounded memory.
import {Badge, Button, Empty, ErrorBox, html, Spinner, useEffect, useMemo, useReducer, useRef, useState} from '../lib/ui.js';
import {useAgain} from '../lib/again.js';
import {Code, pause, textStream, urlOf} from '../lib/api.js';
import {seen, whileSeen} from '../lib/seen.js';
import {find, LogBuffer, split} from './logbuffer.js';
import {stateOf, whyNone} from './outcome.js';
import {sentence} from './problems.js';

// beginnings are from where a log can be read; one that has fewer than tail lines is there as a whole.
const tail = 2000;
const beginnings = [{id: 'tail', label: 'the last 2,000 lines', query: {tailLines: tail}}, {id: 'all', label: 'the beginning', query: {}}];
const firstRetry = 1000;
const lastRetry = 20000;
// frame is how often what has arrived is shown, in milliseconds.
const frame = 100;

// follow reads a log into a buffer until the signal or its end, or until there will be none, which none says. It begins anew after a break, since what was lost
// of the end is not known; so it does when the page comes to the foreground.
async function follow({path, query, buffer, signal, none, onState, changed}) {
  let wait = firstRetry;
  while (!signal.aborted) {
    let fresh = true;
    await seen(signal);
    const connection = whileSeen(signal);
    try {
      onState({state: 'opening', error: null});
      await textStream(path, {
        query: {follow: true, ...query}, signal: connection.signal,
        onText: (text) => {
          if (fresh) {
            buffer.clear(); // what was shown stays until there is something new
            fresh = false;
            wait = firstRetry;
            onState({state: 'following', error: null});
          }
          buffer.append(text);
          changed();
        },
      });
      if (connection.hidden()) {
        continue;
      }
      if (!signal.aborted) {
        buffer.end();
        changed();
        onState({state: 'ended', error: null});
      }
      return;
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      if (connection.hidden()) {
        continue;
      }
      const state = stateOf(error, Code, none());
      onState({state, error});
      if (state !== 'waiting') {
        return;
      }
      await pause(Math.max(wait, (error.retryAfter || 0) * 1000), signal);
      wait = Math.min(wait * 2, lastRetry);
    } finally {
      connection.end();
    }
  }
}

const tones = {opening: 'busy', following: 'ok', waiting: 'warn', ended: 'idle', none: 'idle', failed: 'error'};
const words = {opening: 'Opening', following: 'Following', waiting: 'Waiting', ended: 'Ended', none: 'No log', failed: 'Cannot be read'};

// Log shows the log at a path of the API. sources, if given, are [{id, label}] for the query parameter source. phase is a text that changes when a log that is not
// there yet may have come; none, if not empty, says why it will not. onEnd is called when the log has ended.
export function Log({path, name, sources = [], phase = '', none = '', onEnd}) {
  const buffer = useMemo(() => new LogBuffer(), [path]);
  const [source, setSource] = useState(sources[0]?.id ?? '');
  const [from, setFrom] = useState('tail');
  const [attempt, setAttempt] = useState(0);
  const [status, setStatus] = useState({state: 'opening', error: null});
  const [atEnd, setAtEnd] = useState(true);
  const [paused, setPaused] = useState(false);
  const [, draw] = useReducer((n) => n + 1, 0);
  const drawing = useRef({timer: 0, paused: false});
  drawing.current.paused = paused;
  const never = useRef(none);
  never.current = none;
  useEffect(() => {
    const control = new AbortController();
    const changed = () => {
      if (drawing.current.timer === 0 && !drawing.current.paused) {
        drawing.current.timer = setTimeout(() => { drawing.current.timer = 0; draw(); }, frame);
      }
    };
    buffer.clear();
    follow({
      path, query: {...beginnings.find((b) => b.id === from).query, source}, buffer, signal: control.signal, none: () => never.current, changed,
      onState: (next) => {
        setStatus(next);
        if (next.state === 'ended') {
          onEnd?.();
        }
      },
    });
    return () => {
      control.abort();
      clearTimeout(drawing.current.timer);
      drawing.current.timer = 0;
    };
  }, [buffer, path, from, source, attempt]);
  useEffect(() => {
    if (status.state === 'waiting' || status.state === 'none') {
      setAttempt((n) => n + 1);
    }
  }, [phase]);
  useAgain(status.state === 'failed' ? status.error : null, () => setAttempt((n) => n + 1));
  const shown = useRef(null);
  if (!paused || shown.current === null) {
    shown.current = buffer.snapshot(shown.current);
  }
  return html`<section class="log" aria-label=${'Log of ' + name}>
    <div class="log-bar">
      <span role="status"><${Badge} tone=${tones[status.state]}>${words[status.state]}<//></span>
      ${sources.length > 1 && html`<label class="field-inline">of <select class="input" value=${source} onChange=${(e) => setSource(e.currentTarget.value)}>
        ${sources.map((s) => html`<option value=${s.id}>${s.label}</option>`)}</select></label>`}
      <label class="field-inline">from <select class="input" value=${from} onChange=${(e) => setFrom(e.currentTarget.value)}>
        ${beginnings.map((b) => html`<option value=${b.id}>${b.label}</option>`)}</select></label>
      ${status.state !== 'none' && html`<${Button} kind="quiet" aria-pressed=${paused} disabled=${status.state === 'ended' && !paused} onClick=${() => setPaused(!paused)}>${paused ? 'Go on' : 'Pause'}<//>
      <${Button} kind="quiet" aria-pressed=${atEnd} onClick=${() => setAtEnd(true)}>Stay at the end<//>
      <a class="button quiet" href=${urlOf(path, {source})} download=${name + '.log'}>Download</a>`}
    </div>
    <${Status} status=${status} none=${none} onRetry=${() => setAttempt(attempt + 1)} />
    ${status.state === 'none' && sources.filter((s) => s.id !== source).map((s) => html`<p key=${s.id} class="log-status"><${Button} onClick=${() => setSource(s.id)}>Show the log of ${s.label}<//></p>`)}
    ${status.state !== 'none' && html`<${Lines} shown=${shown.current} atEnd=${atEnd && !paused} onAtEnd=${setAtEnd} ended=${status.state === 'ended'} failed=${status.state === 'failed'}
      partly=${shown.current.dropped > 0 || (from === 'tail' && shown.current.lines >= tail)} onAll=${from === 'tail' ? () => setFrom('all') : null} />`}
  </section>`;
}

function Status({status: {state, error}, none, onRetry}) {
  if (state === 'failed') {
    return html`<${ErrorBox} error=${error} onRetry=${onRetry} />`;
  }
  if (state === 'none') {
    return html`<p class="log-status" role="status">There is no log. ${sentence(none || error.message)}</p>`;
  }
  return state === 'waiting' && html`<p class="log-status muted" role="status">${sentence(error.message)} It is tried again.</p>`;
}

// Lines shows the blocks of a log and finds text in them. partly means that the log may have lines before them, which onAll, if not null, gets.
function Lines({shown, atEnd, onAtEnd, ended, failed, partly, onAll}) {
  const [text, setText] = useState('');
  const [current, setCurrent] = useState(0);
  const scroller = useRef(null);
  const marked = useRef(null);
  const {found, more} = useMemo(() => find(shown.blocks, text), [text, shown]);
  const marks = useMemo(() => Map.groupBy(found, (f) => f.block), [found]);
  const at = found.length === 0 ? null : found[Math.min(current, found.length - 1)];
  useEffect(() => {
    if (atEnd && scroller.current) {
      scroller.current.scrollTop = scroller.current.scrollHeight;
    }
  }, [shown, atEnd]);
  useEffect(() => {
    if (text !== '' && marked.current) {
      const [frame, target] = [scroller.current.getBoundingClientRect(), marked.current.getBoundingClientRect()];
      scroller.current.scrollTop += target.top - frame.top - frame.height / 2; // and not the page with it
    }
  }, [text, at && at.block, at && at.line]);
  const scrolled = () => {
    const s = scroller.current;
    if (!s) return; // the event came after the element was removed
    const near = s.scrollHeight - s.scrollTop - s.clientHeight < 30;
    if (near !== atEnd) {
      onAtEnd(near);
    }
  };
  const go = (step) => {
    if (found.length > 0) {
      onAtEnd(false);
      setCurrent((Math.min(current, found.length - 1) + step + found.length) % found.length);
    }
  };
  const keydown = (e) => {
    if (e.key === 'Enter') {
      e.preventDefault();
      go(e.shiftKey ? -1 : 1);
    } else if (e.key === 'Escape' && text !== '') {
      e.preventDefault();
      setText('');
    }
  };
  const empty = shown.lines === 0 && shown.open === '';
  const wanted = (block) => (at && at.block === block.id ? at.line : -1);
  return html`<div class="log-find">
      <input class="input" type="search" aria-label="Find in the log" placeholder="Find in the log" value=${text} autocomplete="off" spellcheck=${false}
        onInput=${(e) => { setText(e.currentTarget.value); setCurrent(0); if (e.currentTarget.value) onAtEnd(false); }} onKeyDown=${keydown} />
      <span class="muted" role="status">${text !== '' && `${countOf(found.length, current, more)}${partly ? `, in the last ${shown.lines.toLocaleString('en')} lines of the log` : ''}`}</span>
      ${text !== '' && html`<${Button} kind="quiet" onClick=${() => go(-1)} disabled=${found.length === 0} aria-label="The one before">↑<//>
        <${Button} kind="quiet" onClick=${() => go(1)} disabled=${found.length === 0} aria-label="The next one">↓<//>
        ${partly && onAll && html`<${Button} kind="quiet" onClick=${onAll}>Search from the beginning<//>`}`}
    </div>
    <div class="log-lines" ref=${scroller} tabindex="0" role="log" aria-live="off" aria-label="Lines of the log" onScroll=${scrolled}>
      ${shown.dropped > 0 && html`<p class="log-dropped">${shown.dropped.toLocaleString('en')} lines before are not kept here; download the log to have them.</p>`}
      ${empty && !failed && html`<p class="log-dropped">${ended ? 'The log is empty.' : 'Nothing yet.'}</p>`}
      ${shown.blocks.map((b) => html`<${Block} key=${b.id} version=${b.version} lines=${b.lines} text=${text} marks=${marks.get(b.id)?.length ?? 0} line=${wanted(b)} target=${marked} />`)}
      ${shown.open !== '' && html`<pre class="log-block">${shown.open}</pre>`}
    </div>`;
}

const countOf = (found, current, more) => (found === 0 ? 'not found' : `${Math.min(current, found - 1) + 1} of ${found.toLocaleString('en')}${more ? '+' : ''} lines`);

// Block is drawn anew only when it changes: a log has a hundred of them. If none of its lines was found, it is one piece, so that a word of every line does not make
// a million elements.
function Block({version, lines, text, marks, line, target}) {
  return useMemo(() => {
    if (marks === 0) {
      return html`<pre class="log-block">${lines.join('\n') + '\n'}</pre>`;
    }
    return html`<pre class="log-block">${lines.map((l, n) => html`<span ref=${n === line ? target : null} class=${n === line ? 'log-current' : ''}>${
      split(l, text).map((part, i) => (i % 2 ? html`<mark>${part}</mark>` : part))}${'\n'}</span>`)}</pre>`;
  }, [version, text, marks, line]);
}

// jobSources are the logs of a job, with the right that each needs.
const jobSources = [
  {id: 'driver', label: 'the job', needs: ['get', 'services', 'proxy']},
  {id: 'submitter', label: 'the submitter', needs: ['get', 'pods', 'log']},
];

// Logs is the tab of a job.
export function Logs({kind, object, rights}) {
  const {namespace, name} = object.metadata;
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}/logs`;
  const submitter = ['K8sJobMode', 'SidecarMode'].includes(object.spec?.submissionMode ?? 'K8sJobMode');
  const sources = jobSources.filter((s) => (s.id === 'driver' || submitter) && rights.can(...s.needs));
  if (sources.length === 0) {
    return rights.loaded ? html`<${Empty} title="You may not read logs here">The log of a job needs the right to get services/proxy in ${namespace}.<//>` : html`<${Spinner} />`;
  }
  return html`<${Log} key=${path + (object.status?.jobId ?? '')} path=${path} name=${name} sources=${sources} none=${whyNone(object)}
    phase=${object.status?.jobDeploymentStatus + ' ' + object.status?.jobStatus} />`;
}
