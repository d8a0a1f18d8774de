// The list of a kind: a live table with filter, sort and keys.
import {Badge, Button, cls, Empty, ErrorBox, html, setQuery, Spinner, useCallback, useKeys, useMemo, useRef, useTitle} from '../lib/ui.js';
import {Code} from '../lib/api.js';
import {useEvery} from '../lib/again.js';
import {Link, navigate, objectPath} from '../lib/router.js';
import {matcher, sorted} from '../lib/rows.js';
import {useRights} from '../lib/rights.js';
import {useList} from '../lib/watch.js';
import {pages} from '../parts/registry.js';
import {Live} from './live.js';

const tones = ['error', 'warn', 'busy', 'ok', 'idle'];

const keyOf = (object) => object.metadata.uid ?? `${object.metadata.namespace}/${object.metadata.name}`;

export function List({kind, route}) {
  const namespace = route.query.get('namespace') ?? '';
  const filter = route.query.get('filter') ?? '';
  const sort = route.query.get('sort') ?? 'name';
  const rights = useRights(namespace);
  const refused = rights.loaded && !rights.error && !rights.can('watch', kind.resource);
  useEvery(refused, rights.again);
  const list = useList(kind, rights.loaded && !refused ? namespace : undefined);
  const columns = useMemo(() => kind.columns.filter((c) => c.id !== 'namespace' || !namespace), [kind, namespace]);
  const all = useMemo(() => [...list.items.values()], [list.items]);
  const shown = route.query.get('show') ?? '';
  const tone = tones.includes(shown) ? shown : '';
  const setTone = (show) => setQuery({show});
  const rows = useMemo(() => {
    const matches = matcher(filter, columns);
    return sorted(all.filter((o) => (!tone || kind.state(o).tone === tone) && matches(o)), sort, columns);
  }, [all, filter, sort, columns, tone]);
  useTitle(kind.label + (namespace ? ` in ${namespace}` : ''));
  const search = useRef(null);
  const table = useRef(null);
  const move = (by) => focusRow(table.current, by);
  useKeys({
    '/': () => search.current?.focus(), j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
    g: () => focusRow(table.current, -Infinity), G: () => focusRow(table.current, Infinity),
    ...(pages.create && rights.can('create', kind.resource) ? {c: () => navigate(createPath(kind, namespace))} : {}),
  });
  const fatal = list.fatal ? list.error : null;
  return html`<main id="main" class="page">
    <header class="page-head">
      <h1>${kind.label}</h1>
      ${!refused && html`<${Live} state=${list} />`}
      <span class="grow" />
      ${pages.create && rights.can('create', kind.resource) && html`<${Link} class="button primary" to=${createPath(kind, namespace)}>Create ${kind.one}<//>`}
    </header>
    ${!refused && html`<div class="toolbar">
      <input ref=${search} class="input search" type="search" placeholder="Filter (press /)" aria-label="Filter ${kind.label.toLowerCase()}" value=${filter}
        spellcheck=${false} onInput=${(e) => setQuery({filter: e.target.value})} onKeyDown=${(e) => searchKey(e, table.current)} />
      <${Tones} kind=${kind} objects=${all} tone=${tone} setTone=${setTone} />
      <span class="grow" />
      <span class="muted count-of" role="status">${list.synced && countText(rows.length, all.length, kind)}</span>
    </div>`}
    ${refused ? html`<${Refused} kind=${kind} namespace=${namespace} />` : fatal ? html`<${Failure} error=${fatal} kind=${kind} namespace=${namespace} />`
      : !list.synced && all.length === 0 ? (list.error ? html`<${ErrorBox} error=${list.error} title="Not loaded yet." />` : html`<${Spinner} />`)
      : rows.length === 0 ? html`<${Nothing} kind=${kind} namespace=${namespace} filtered=${all.length > 0} clear=${() => setQuery({filter: '', show: ''})} />`
      : html`<${Table} tableRef=${table} kind=${kind} columns=${columns} rows=${rows} sort=${sort} />`}
  </main>`;
}

const createPath = (kind, namespace) => `/ui/create?kind=${kind.plural}${namespace ? '&namespace=' + encodeURIComponent(namespace) : ''}`;

const countText = (shown, all, kind) => {
  const total = `${all.toLocaleString()} ${all === 1 ? kind.one : kind.label.toLowerCase()}`;
  return shown === all ? total : `${shown.toLocaleString()} of ${total}`;
};

// searchKey leads from the filter into the table, and with Escape away from it.
function searchKey(e, table) {
  if (e.key === 'ArrowDown' || e.key === 'Enter') {
    e.preventDefault();
    focusRow(table, -Infinity);
  } else if (e.key === 'Escape') {
    setQuery({filter: ''});
    e.target.blur();
  }
}

// focusRow moves the focus by so many rows.
function focusRow(table, by) {
  const links = table ? [...table.querySelectorAll('tbody a.row-link')] : [];
  if (!links.length) return;
  const now = links.indexOf(document.activeElement?.closest('tr')?.querySelector('a.row-link'));
  const next = Math.min(links.length - 1, Math.max(0, now + by));
  links[next].focus();
  links[next].closest('tr').scrollIntoView({block: 'nearest'});
}

// Tones are how many objects there are in which condition; pressing one shows only these.
function Tones({kind, objects, tone, setTone}) {
  const names = {error: 'failing', warn: 'need a look', busy: 'in progress', ok: 'fine', idle: 'idle'};
  const counts = {};
  for (const o of objects) {
    const t = kind.state(o).tone;
    counts[t] = (counts[t] ?? 0) + 1;
  }
  return html`<div class="tones" role="group" aria-label="Show only">${tones.filter((t) => counts[t] || t === tone).map((t) => html`
    <button key=${t} type="button" class="chip" aria-pressed=${t === tone ? 'true' : 'false'} onClick=${() => setTone(t === tone ? '' : t)}>
      <${Badge} tone=${t}>${counts[t] ?? 0} ${names[t]}<//></button>`)}</div>`;
}

function Failure({error, kind, namespace}) {
  if (error.code === Code.PERMISSION_DENIED) return html`<${Refused} kind=${kind} namespace=${namespace} />`;
  return html`<${ErrorBox} error=${error} title="The list cannot be shown." onRetry=${() => location.reload()} />`;
}

const Refused = ({kind, namespace}) => html`<${Empty} title=${`You may not see ${kind.label.toLowerCase()} in ${namespace || 'all namespaces at once'}`}>
  <p>${namespace ? 'Choose another namespace above, or ask the administrator of this one' : 'Choose a namespace above in which you may, or ask an administrator'} for the right
    to <code>list</code> and <code>watch</code> <code>${kind.resource}.ray.io</code>.</p><//>`;

function Nothing({kind, namespace, filtered, clear}) {
  if (filtered) {
    return html`<${Empty} title="Nothing fits the filter"><p>Every word has to be in some column. <code>state:ready</code> asks one column, <code>!word</code> leaves out.</p>
      <${Button} onClick=${clear}>Show all<//><//>`;
  }
  return html`<${Empty} title=${`No ${kind.label.toLowerCase()} ${namespace ? 'in ' + namespace : 'yet'}`}><p>They appear here as soon as there are some.</p><//>`;
}

// Table has its roles in words, since its rows are laid out as grids, which some browsers take for no table.
function Table({tableRef, kind, columns, rows, sort}) {
  // A row is made anew when its object has changed, and else taken as it is: of a thousand rows few change at a time.
  const made = useMemo(() => new WeakMap(), [kind, columns]);
  const row = useCallback((object) => {
    let known = made.get(object);
    if (!known) {
      known = html`<${Row} key=${keyOf(object)} kind=${kind} columns=${columns} object=${object} />`;
      made.set(object, known);
    }
    return known;
  }, [kind, columns]);
  return html`<div class="table-wrap list-wrap">
    <table ref=${tableRef} role="table" class=${cls('table list', 'of-' + kind.plural, columns.length === kind.columns.length && 'all')} aria-label=${kind.label} aria-rowcount=${rows.length + 1}>
      <thead role="rowgroup"><tr role="row">${columns.map((c) => html`<${Head} key=${c.id} column=${c} sort=${sort} />`)}</tr></thead>
      <tbody role="rowgroup">${rows.map(row)}</tbody>
    </table>
  </div>`;
}

function Head({column, sort}) {
  const by = sort.replace(/^-/, '') === column.id;
  const down = sort.startsWith('-');
  const next = by && !down ? '-' + column.id : column.id;
  return html`<th role="columnheader" scope="col" class=${cls('col-' + column.id, column.end && 'end', column.main && 'main')} aria-sort=${by ? (down ? 'descending' : 'ascending') : undefined}>
    <button type="button" onClick=${() => setQuery({sort: next === 'name' ? '' : next})}>${column.label}<span class="sort" aria-hidden="true">${by ? (down ? '↓' : '↑') : ''}</span></button></th>`;
}

function Row({kind, columns, object}) {
  const to = objectPath(kind.plural, object.metadata.namespace, object.metadata.name);
  const open = (e) => {
    if (e.target.closest('a, button') || getSelection()?.toString()) return;
    navigate(to);
  };
  return html`<tr role="row" onClick=${open}>${columns.map((c) => (c.id === 'name'
    ? html`<th key=${c.id} role="rowheader" scope="row" class="col-name main"><${Link} class="row-link" to=${to}>${object.metadata.name}<//></th>`
    : html`<td key=${c.id} role="cell" data-label=${c.label} class=${cls('col-' + c.id, c.end && 'end', c.main ? 'main' : c.brief && 'brief')}>${c.cell ? c.cell(object) : c.value(object)}</td>`))}</tr>`;
}
