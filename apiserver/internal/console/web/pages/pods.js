// The Pods that run for an object. They are read again whenever its status changes.
import {Badge, Button, Empty, ErrorBox, html, Spinner, Time} from '../lib/ui.js';
import {request} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';

const bad = /(Error|BackOff|Failed|OOMKilled|Evicted|Unschedulable|InvalidImageName|ErrImage|NeverPull|ContainerCannotRun|DeadlineExceeded)/;

function toneOf(pod) {
  if (bad.test(pod.status)) return 'error';
  if (pod.status === 'Running') return pod.ready === pod.total ? 'ok' : 'busy';
  return pod.status === 'Succeeded' ? 'idle' : 'busy';
}

export function Pods({kind, object}) {
  const {namespace, name, resourceVersion} = object.metadata;
  const path = `/ui/api/namespaces/${encodeURIComponent(namespace)}/${kind.resource}/${encodeURIComponent(name)}/pods`;
  const {data, error, loading, again} = useFetched((signal) => request('GET', path, {signal}), resourceVersion);
  if (!data) return error ? html`<${ErrorBox} error=${error} title="The Pods cannot be shown." onRetry=${again} />` : html`<${Spinner} />`;
  const pods = data.pods;
  const clusters = new Set(pods.map((p) => p.cluster)).size > 1;
  return html`<div class="toolbar"><span class="muted" role="status">${pods.length} ${pods.length === 1 ? 'Pod' : 'Pods'}</span><span class="grow" />
      <${Button} busy=${loading} onClick=${again}>Refresh<//></div>
    <${ErrorBox} error=${error} title="Not up to date." />
    ${pods.length === 0 ? html`<${Empty} title="No Pods"><p>Nothing runs for this ${kind.one} now.</p><//>` : html`<div class="table-wrap"><table class="table plain pods" aria-label="Pods">
      <thead><tr><th scope="col">Name</th>${clusters && html`<th scope="col">Cluster</th>`}<th scope="col">Group</th><th scope="col">Status</th><th scope="col" class="end">Ready</th>
        <th scope="col" class="end">Restarts</th><th scope="col">Node</th><th scope="col">Address</th><th scope="col" class="end">Age</th></tr></thead>
      <tbody>${pods.map((p) => html`<tr key=${p.name}>
        <th scope="row">${p.name}</th>${clusters && html`<td data-label="Cluster">${p.cluster}</td>`}
        <td data-label="Group">${p.type === 'head' ? 'head' : p.group || p.type || '–'}</td>
        <td data-label="Status"><${Badge} tone=${toneOf(p)}>${p.status}<//>${p.message && html`<p class="muted message">${p.message}</p>`}</td>
        <td data-label="Ready" class="end">${p.ready}/${p.total}</td><td data-label="Restarts" class="end">${p.restarts}</td>
        <td data-label="Node">${p.node || '–'}</td><td data-label="Address">${p.ip || '–'}</td><td data-label="Age" class="end"><${Time} at=${p.created} /></td></tr>`)}</tbody>
    </table></div>`}`;
}
