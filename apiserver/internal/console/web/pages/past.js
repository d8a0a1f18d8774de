// What has ended: the records that the history has of the objects of a kind, the newest first.
import {Badge, Button, Empty, ErrorBox, html, setQuery, Spinner, Time, ageText, useTitle} from '../lib/ui.js';
import {Code} from '../lib/api.js';
import {kinds} from '../lib/kinds.js';
import {bytesText} from '../lib/quantity.js';
import {recordPath, resultTone, secondsOf, useRecords} from '../lib/records.js';
import {Link} from '../lib/router.js';

const kept = Object.values(kinds).filter((k) => k.results);

// dayAfter is the first moment after a day of the browser's calendar, as the API wants times; empty for none.
function dayAfter(day) {
  const [year, month, date] = day.split('-').map(Number);
  const end = new Date(year, month - 1, date + 1);
  return Number.isNaN(end.getTime()) ? '' : end.toISOString();
}

// Past is /ui/past?namespace=&kind=&name=&result=&until=.
export function Past({route}) {
  const value = (name) => route.query.get(name) ?? '';
  const namespace = value('namespace');
  const kind = kept.find((k) => k.plural === value('kind')) ?? kinds.jobs;
  const result = kind.results.includes(value('result')) ? value('result') : '';
  const filters = {name: value('name').trim(), result, until: value('until')};
  useTitle(`Past ${kind.label.toLowerCase()}` + (namespace ? ` in ${namespace}` : ''));
  return html`<main id="main" class="page">
    <header class="page-head"><h1>Past ${kind.label.toLowerCase()}</h1></header>
    <div class="toolbar">
      <label class="field-inline">Kind <select class="input" value=${kind.plural} onChange=${(e) => setQuery({kind: e.target.value, result: ''})}>
        ${kept.map((k) => html`<option key=${k.plural} value=${k.plural} selected=${k === kind}>${k.label}</option>`)}</select></label>
      <label class="field-inline">Result <select class="input" value=${result} onChange=${(e) => setQuery({result: e.target.value})}>
        <option value="">any</option>${kind.results.map((r) => html`<option key=${r} value=${r} selected=${r === result}>${r}</option>`)}</select></label>
      <label class="field-inline">Name has <input class="input" value=${filters.name} spellcheck=${false} autocomplete="off"
        onChange=${(e) => setQuery({name: e.target.value.trim()})} /></label>
      <label class="field-inline">Until <input class="input" type="date" value=${filters.until} onChange=${(e) => setQuery({until: e.target.value})} /></label>
    </div>
    ${namespace ? html`<${Found} key=${JSON.stringify([namespace, kind.plural, filters])} namespace=${namespace} kind=${kind} filters=${filters} />`
      : html`<${Empty} title="Select a namespace"><p>The history is kept for each namespace.</p><//>`}
  </main>`;
}

// words are the terms of a filter of the API.
const words = ({name, result}) => [name && `name : ${JSON.stringify(name)}`, result && `result = ${JSON.stringify(result)}`].filter(Boolean).join(' AND ');

function Found({namespace, kind, filters}) {
  const state = useRecords(namespace, {kind: kind.kind, filter: words(filters), until: filters.until && dayAfter(filters.until)});
  const filtered = Object.values(filters).some(Boolean);
  return html`<${Records} kind=${kind} state=${state} none=${html`<${Empty} title=${filtered ? 'Nothing fits the filter' : `No past ${kind.label.toLowerCase()} in ${namespace}`}>
    ${filtered ? html`<${Button} onClick=${() => setQuery({name: '', result: '', until: ''})}>Show all<//>` : html`<p>${kind.plural === 'jobs'
      ? 'Jobs appear here when an attempt has ended.' : `A ${kind.one} appears here when it is deleted.`}</p>`}<//>`} />`;
}

// PastOf lists the records of one name: earlier attempts, and objects that had the name before. current is the record whose page it is on, if any.
export function PastOf({kind, namespace, name, current}) {
  const state = useRecords(namespace, {kind: kind.kind, name});
  return html`<${Records} kind=${kind} state=${state} current=${current} none=${html`<${Empty} title="No past attempts"><p>An attempt appears here when it has ended.</p><//>`} />`;
}

// PastTab is the tab of an object.
export const PastTab = ({kind, object}) => html`<${PastOf} kind=${kind} namespace=${object.metadata.namespace} name=${object.metadata.name} />`;

// Records is the table of what useRecords returns, and none in place of an empty one.
function Records({kind, state, current, none}) {
  const {records, next, error, loading, older, again} = state;
  const found = records?.length ?? 0;
  if (error && error.code === Code.PERMISSION_DENIED) {
    return html`<${Empty} title=${`You may not list ${kind.label.toLowerCase()} here`}><p>The history needs the right to <code>list</code> <code>${kind.resource}.ray.io</code>.</p><//>`;
  }
  if (!records) return error ? html`<${ErrorBox} error=${error} title="The history cannot be shown." onRetry=${again} />` : html`<${Spinner} />`;
  return html`<${ErrorBox} error=${error} title="Not up to date." onRetry=${again} />
    ${found === 0 && !next && none}
    ${found > 0 && html`<${Table} kind=${kind} records=${records} current=${current} />`}
    <div class="toolbar past-foot"><span class="muted" role="status">${next ? (found ? `The newest ${found.toLocaleString()}` : 'Nothing so far') : found ? `${found.toLocaleString()}, and no older ones` : ''}</span>
      <span class="grow" />
      ${next && html`<${Button} busy=${loading} onClick=${older}>${found ? 'Older ones' : 'Look further back'}<//>`}
      <${Button} busy=${loading && !next} onClick=${again}>Refresh<//></div>`;
}

function Table({kind, records, current}) {
  const job = kind.plural === 'jobs';
  const isCurrent = (r) => current && r.uid === current.uid && r.attempt === current.attempt;
  return html`<div class="table-wrap"><table class="table plain past" aria-label=${`Past ${kind.label.toLowerCase()}`}>
    <thead><tr><th scope="col">Name</th>${job && html`<th scope="col" class="end">Attempt</th>`}<th scope="col">Result</th><th scope="col">Why</th>
      <th scope="col" class="end">Took</th><th scope="col" class="end">Ended</th>${job && html`<th scope="col" class="end">Log</th>`}</tr></thead>
    <tbody>${records.map((r) => html`<tr key=${`${r.uid} ${r.attempt} ${r.startTime}`}>
      <th scope="row"><${Link} to=${recordPath(kind, r)} aria-current=${isCurrent(r) ? 'page' : undefined}>${r.name}<//></th>
      ${job && html`<td data-label="Attempt" class="end">${r.attempt}</td>`}
      <td><${Badge} tone=${resultTone(r)}>${r.result}<//></td>
      <td class="long"><span class="reason">${r.reason}</span>${gist(r.message).map((line) => html`<p class="muted">${line}</p>`)}</td>
      <td data-label="Took" class="end">${ageText(secondsOf(r))}</td><td data-label="Ended" class="end"><${Time} at=${r.endTime} ago=${true} /></td>
      ${job && html`<td data-label="Log" class="end">${sizeText(r)}</td>`}</tr>`)}</tbody></table></div>`;
}

// gist is the first line of a message and its last one: a traceback ends with the error.
function gist(message = '') {
  const lines = message.split('\n').filter((line) => line.trim());
  return lines.length > 1 ? [lines[0], `… ${lines.at(-1)}`] : lines;
}

const sizeText = (record) => (record.hasLog ? bytesText(record.logBytes ?? 0)?.join(' ') ?? '0 B' : html`<span class="muted">none</span>`);
