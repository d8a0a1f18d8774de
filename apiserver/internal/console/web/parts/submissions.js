// The Ray jobs on a running cluster: what there are, and one of them with its log to its end.
import {Badge, Button, Confirm, Empty, ErrorBox, html, Link, setQuery, Spinner, Time, toast, useEffect, useState} from '../lib/ui.js';
import {Code, request, requestPages} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';
import {useRoute} from '../lib/router.js';
import {Log} from './logs.js';

const tones = {PENDING: 'busy', RUNNING: 'busy', SUCCEEDED: 'ok', FAILED: 'error', STOPPED: 'idle'};
const ended = (s) => ['SUCCEEDED', 'FAILED', 'STOPPED'].includes(s.status);

// idOf names a submission; a driver that connected by itself has Ray's own id only.
const idOf = (s) => s.submissionId || s.jobId || '';

const pathOf = (object) => `/apis/v2/namespaces/${encodeURIComponent(object.metadata.namespace)}/clusters/${encodeURIComponent(object.metadata.name)}/submissions`;

// Submissions is the tab of a RayCluster. Ray has no watch: the list is read when the tab opens, when a job ends that is looked at, and by the button.
export function Submissions({object, rights}) {
  const route = useRoute();
  const chosen = route.query.get('submission') ?? '';
  if (chosen) {
    return html`<${One} key=${chosen} object=${object} id=${chosen} rights=${rights} />`;
  }
  return html`<${All} object=${object} />`;
}

function All({object}) {
  const path = pathOf(object);
  const {data, error, loading, again} = useFetched((signal) => requestPages(path, 'submissions', {query: {pageSize: 1000}, signal}), path);
  useEffect(() => { // a cluster that is not ready has no list yet
    if (error) again();
  }, [object.metadata.resourceVersion]);
  const all = data?.submissions ?? [];
  return html`<div class="toolbar">
      <span class="muted">${data && `${(data.totalSize ?? all.length).toLocaleString('en')} on this cluster`}</span><span class="grow" />
      <${Button} busy=${loading} onClick=${again}>Refresh<//>
    </div>
    <${ErrorBox} error=${error} title="The jobs cannot be read." onRetry=${again} />
    ${data === null && loading && html`<${Spinner} label="Asking Ray" />`}
    ${data !== null && all.length === 0 && html`<${Empty} title="No jobs">Ray has no record of any on this cluster.<//>`}
    ${all.length > 0 && html`<div class="table-wrap"><table class="table plain"><thead><tr><th scope="col">Submission</th><th scope="col">State</th><th scope="col">Entrypoint</th><th scope="col" class="end">Started</th><th scope="col" class="end">Ended</th></tr></thead>
      <tbody>${all.map((s) => html`<tr key=${idOf(s)}><th scope="row"><${Link} to=${`${location.pathname}?tab=submissions&submission=${encodeURIComponent(idOf(s))}`}>${idOf(s)}<//></th>
        <td><${Badge} tone=${tones[s.status]}>${s.status}<//></td><td><code class="entrypoint">${s.entrypoint}</code></td>
        <td data-label="Started" class="end"><${Time} at=${s.startTime} /></td><td data-label="Ended" class="end"><${Time} at=${s.endTime} /></td></tr>`)}</tbody></table></div>`}`;
}

function One({object, id, rights}) {
  const path = `${pathOf(object)}/${encodeURIComponent(id)}`;
  const {data: s, error, loading, again} = useFetched((signal) => request('GET', path, {signal}), path);
  const [asking, setAsking] = useState('');
  const back = () => setQuery({submission: ''}, {replace: false});
  const stop = async () => {
    await request('POST', path + ':stop');
    toast(`Ray is asked to stop ${id}.`);
    again();
  };
  const remove = async () => {
    await request('DELETE', path);
    toast(`The record of ${id} is deleted.`);
    back();
  };
  return html`<div class="toolbar"><${Button} kind="quiet" onClick=${back}>All submissions<//><h2 class="submission-name">${id}</h2>
      ${s && html`<span role="status"><${Badge} tone=${tones[s.status]}>${s.status}<//></span>`}<span class="grow" />
      <${Button} busy=${loading} onClick=${again}>Refresh<//>
      ${s && !ended(s) && rights.can('create', 'services', 'proxy') && html`<${Button} onClick=${() => setAsking('stop')}>Stop<//>`}
      ${s && ended(s) && rights.can('delete', 'services', 'proxy') && html`<${Button} kind="danger" onClick=${() => setAsking('delete')}>Delete record<//>`}
    </div>
    <${ErrorBox} error=${error} title=${error?.code === Code.NOT_FOUND ? 'Ray has no record of it any more.' : 'The job cannot be read.'} onRetry=${again} />
    ${s && html`<dl class="facts">
      <div><dt>Entrypoint</dt><dd><code class="entrypoint">${s.entrypoint}</code></dd></div>
      <div><dt>Started</dt><dd><${Time} at=${s.startTime} ago=${true} /></dd></div>
      <div><dt>Ended</dt><dd><${Time} at=${s.endTime} ago=${true} /></dd></div>
      ${s.driverExitCode !== undefined && html`<div><dt>Exit code</dt><dd>${s.driverExitCode}</dd></div>`}
      ${s.errorType && html`<div><dt>Kind of failure</dt><dd>${s.errorType}</dd></div>`}
    </dl>
    ${s.message && s.status === 'FAILED' && html`<pre class="submission-message" tabindex="0">${s.message}</pre>`}
    <${Log} path=${path + '/logs'} name=${id} onEnd=${again} />`}
    ${asking === 'stop' && html`<${Confirm} title="Stop ${id}?" action="Stop" danger=${true} onConfirm=${stop} onClose=${() => setAsking('')}><p>Ray is asked to stop the job. Its record and its log stay.</p><//>`}
    ${asking === 'delete' && html`<${Confirm} title="Delete the record of ${id}?" action="Delete" danger=${true} onConfirm=${remove} onClose=${() => setAsking('')}><p>The record and the log of this job are deleted from the cluster.</p><//>`}`;
}
