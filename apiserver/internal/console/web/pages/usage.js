// The usage of a month: what the deleted clusters of a namespace requested, by owner or queue.
import {Button, Empty, ErrorBox, html, setQuery, Spinner, useTitle} from '../lib/ui.js';
import {request} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';

const resources = [['cpuSeconds', 'CPU hours'], ['gpuSeconds', 'GPU hours'], ['tpuSeconds', 'TPU hours'], ['memoryGibSeconds', 'Memory, GiB hours']];

const groups = {owner: 'Owner', queue: 'Queue'};

const hours = (seconds) => (seconds > 0 && seconds < 36 ? '< 0.01' : (seconds / 3600).toLocaleString(undefined, {maximumFractionDigits: 2}));

// Usage is /ui/usage?namespace=&month=&by=.
export function Usage({route}) {
  const namespace = route.query.get('namespace') ?? '';
  const by = Object.hasOwn(groups, route.query.get('by')) ? route.query.get('by') : 'owner';
  const month = route.query.get('month') || new Date().toISOString().slice(0, 7);
  useTitle('Usage' + (namespace ? ` of ${namespace}` : ''));
  return html`<main id="main" class="page">
    <header class="page-head"><h1>Usage</h1></header>
    <div class="toolbar">
      <label for="month">Month</label><input id="month" class="input" type="month" value=${month} onChange=${(e) => setQuery({month: e.target.value})} />
      <label for="by">By</label><select id="by" class="input" value=${by} onChange=${(e) => setQuery({by: e.target.value})}>
        ${Object.entries(groups).map(([id, label]) => html`<option key=${id} value=${id}>${label}</option>`)}</select>
    </div>
    ${namespace ? html`<${Sums} key=${namespace} namespace=${namespace} month=${month} by=${by} />` : html`<${Empty} title="Select a namespace"><p>Usage is summed for each namespace.</p><//>`}
    <p class="hint">Clusters count once they are deleted, those of jobs and services, too. The month is that of UTC.</p>
  </main>`;
}

function Sums({namespace, month, by}) {
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/usage`;
  const wanted = month + by;
  const {data, error, loading, again} = useFetched((signal) => request('GET', path, {query: {month, groupBy: by}, signal}).then((answer) => ({...answer, wanted})), wanted);
  if (error) return html`<${ErrorBox} error=${error} title="The usage cannot be shown." onRetry=${again} />`;
  if (data?.wanted !== wanted) return html`<${Spinner} />`;
  const items = data.items ?? [];
  if (items.length === 0) return html`<${Empty} title="No cluster was deleted"><p>Nothing is counted for ${month}.</p><${Button} busy=${loading} onClick=${again}>Refresh<//><//>`;
  const shown = resources.filter(([field]) => items.some((item) => item[field] > 0));
  const most = Object.fromEntries(shown.map(([field]) => [field, Math.max(...items.map((item) => item[field] ?? 0))]));
  const rows = [...items].sort((a, b) => (b[shown[0]?.[0]] ?? 0) - (a[shown[0]?.[0]] ?? 0));
  return html`<div class="table-wrap"><table class="table plain usage" aria-label="Usage by ${groups[by].toLowerCase()}">
    <thead><tr><th scope="col">${groups[by]}</th><th scope="col" class="end">Clusters</th>${shown.map(([, label]) => html`<th scope="col" class="end">${label}</th>`)}</tr></thead>
    <tbody>${rows.map((item) => html`<tr key=${item[by] ?? ''}>
      <th scope="row">${item[by] || html`<span class="muted">none</span>`}</th><td data-label="Clusters" class="end">${item.clusters}</td>
      ${shown.map(([field, label]) => html`<td data-label=${label} class="end">${hours(item[field] ?? 0)}
        <svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width=${100 * (item[field] ?? 0) / most[field]} height="1" /></svg></td>`)}</tr>`)}</tbody>
  </table></div>`;
}
