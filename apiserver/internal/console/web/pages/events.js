// The events of an object and of what was made for it, newest first. They are read again whenever its status changes.
import {Badge, Button, Empty, ErrorBox, html, Spinner, Time, useMemo, useState} from '../lib/ui.js';
import {requestPages} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';

export function Events({kind, object}) {
  const {namespace, name, resourceVersion} = object.metadata;
  const [onlyWarnings, setOnlyWarnings] = useState(false);
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}/events`;
  const {data, error, loading, again} = useFetched((signal) => requestPages(path, 'events', {query: {includeChildren: true, pageSize: 500}, signal}), resourceVersion);
  const events = useMemo(() => (data?.events ?? []).filter((e) => !onlyWarnings || e.type === 'Warning'), [data, onlyWarnings]);
  if (!data) return error ? html`<${ErrorBox} error=${error} title="The events cannot be shown." onRetry=${again} />` : html`<${Spinner} />`;
  return html`<div class="toolbar">
      <label class="check"><input type="checkbox" checked=${onlyWarnings} onChange=${(e) => setOnlyWarnings(e.target.checked)} /> Warnings only</label>
      <span class="grow" /><span class="muted" role="status">${events.length} ${events.length === 1 ? 'event' : 'events'}</span><${Button} busy=${loading} onClick=${again}>Refresh<//></div>
    <${ErrorBox} error=${error} title="Not up to date." />
    ${events.length === 0 ? html`<${Empty} title=${onlyWarnings ? 'No warnings' : 'No events'}><p>Kubernetes keeps events for about an hour.</p><//>` : html`<${EventTable} events=${events} />`}`;
}

// EventTable shows events of the API.
export const EventTable = ({events}) => html`<div class="table-wrap"><table class="table plain events" aria-label="Events">
  <thead><tr><th scope="col" class="end">Last</th><th scope="col">Type</th><th scope="col">Reason</th><th scope="col">Object</th><th scope="col">Message</th><th scope="col" class="end">Times</th></tr></thead>
  <tbody>${events.map((e) => html`<tr>
    <td data-label="Last" class="end"><${Time} at=${e.lastTime} /></td><td data-label="Type"><${Badge} tone=${e.type === 'Warning' ? 'warn' : 'idle'}>${e.type}<//></td>
    <td data-label="Reason">${e.reason}</td><td data-label="Object"><span class="muted">${e.object?.kind}</span> ${e.object?.name}</td>
    <td data-label="Message" class="long">${e.message}</td><td data-label="Times" class="end">${e.count ?? 1}</td></tr>`)}</tbody></table></div>`;
