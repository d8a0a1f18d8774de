// The page of a record: how an attempt of a job, or a deleted object, ended, with all that the history has of it.
import {Badge, Button, cls, Empty, ErrorBox, html, Spinner, Tabs, Time, Warnings, ageText, useKeys, useState, useTitle} from '../lib/ui.js';
import {Code, request, urlOf} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';
import {recordPath, resultTone, runOf, secondsOf} from '../lib/records.js';
import {Link, listPath, navigate, objectPath} from '../lib/router.js';
import {openDashboard} from '../parts/actions.js';
import {Log} from '../parts/logs.js';
import {EventTable} from './events.js';
import {Conditions, Diagnosis, diagnosisPath, Groups, Pairs} from './overview.js';
import {PastOf} from './past.js';
import {Text} from './yaml.js';

const tabs = [
  {id: 'overview', label: 'Overview', shows: Overview}, {id: 'logs', label: 'Logs', shows: Logs, of: 'jobs'}, {id: 'events', label: 'Events', shows: Events},
  {id: 'pods', label: 'Pods', shows: Pods}, {id: 'yaml', label: 'YAML', shows: YAML},
];

// RecordPage is /ui/namespaces/NS/KINDS/NAME/past?uid=&attempt=; without them it is the newest record of the name.
export function RecordPage({kind, namespace, name, route, session}) {
  const query = {uid: route.query.get('uid') ?? '', attempt: route.query.get('attempt') ?? ''};
  const place = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/history/${kind.kind}/${encodeURIComponent(name)}`;
  const path = urlOf(place, query);
  const {data, error, again} = useFetched((signal) => {
    let warnings = [];
    return request('GET', path, {signal, onWarnings: (all) => { warnings = all; }}).then((answer) => ({...answer, path, warnings}));
  }, path);
  const shown = tabs.filter((t) => !t.of || t.of === kind.plural);
  const active = shown.find((t) => t.id === route.query.get('tab')) ?? shown[0];
  const record = data?.path === path ? data.record : null;
  const pathOf = (tab) => recordPath(kind, {namespace, name, ...query}, tab);
  useTitle(`${name} (past ${kind.one})`);
  useKeys(Object.fromEntries(shown.map((t, i) => [String(i + 1), () => navigate(pathOf(t.id))])));
  return html`<main id="main" class="page">
    <nav class="crumbs" aria-label="Where this is"><${Link} to=${pastPath(kind)}>Past ${kind.label.toLowerCase()}<//><span aria-hidden="true">/</span>
      <${Link} to=${pastPath(kind, namespace)}>${namespace}<//></nav>
    <header class="page-head">
      <h1 class="name">${name}</h1>
      ${record && html`<span role="status"><${Badge} tone=${resultTone(record)} title=${record.reason}>${record.result}<//></span>
        ${record.attempt > 0 && html`<span class="muted">attempt ${record.attempt}</span>`}<span class="muted">ended <${Time} at=${record.endTime} ago=${true} /></span>`}
      <span class="grow" />
      <div class="actions">${session.pastDashboards && record && kind.plural === 'jobs' && html`<${Dashboard} path=${place} record=${record} />`}
        <${Link} class="button" to=${objectPath(kind.plural, namespace, name)}>The ${kind.one} now<//></div>
    </header>
    ${error && !record ? html`<${Failure} error=${error} kind=${kind} namespace=${namespace} again=${again} />` : !record ? html`<${Spinner} />` : html`
      <${Warnings} warnings=${[...record.lost ?? [], ...data.warnings]} />
      <${Tabs} tabs=${shown} active=${active.id} to=${pathOf} />
      <section class=${cls('tab', 'tab-' + active.id)} aria-label=${active.label}>
        <${active.shows} key=${active.id + path} kind=${kind} answer=${data} path=${path} />
      </section>`}
  </main>`;
}

// Dashboard opens the past session in Ray's own pages.
function Dashboard({path, record}) {
  const [error, setError] = useState(null);
  return html`<${ErrorBox} error=${error} title="The dashboard cannot be opened." />
    <${Button} onClick=${() => openDashboard(path, runOf(record)).then(() => setError(null), setError)}>Dashboard<//>`;
}

const pastPath = (kind, namespace) => urlOf(listPath('past', namespace), {kind: kind.plural});

function Failure({error, kind, namespace, again}) {
  const more = html`<p><${Link} class="button" to=${pastPath(kind, namespace)}>Past ${kind.label.toLowerCase()} in ${namespace}<//></p>`;
  if (error.code === Code.NOT_FOUND) return html`<${Empty} title="The history has no such record"><p>${error.message}</p>${more}<//>`;
  if (error.code === Code.PERMISSION_DENIED) return html`<${Empty} title=${`You may not see this ${kind.one}`}><p class="hint">${error.message}</p><//>`;
  return html`<${ErrorBox} error=${error} title="The record cannot be shown." onRetry=${again} />`;
}

const When = ({at}) => (at ? html`${new Date(at).toLocaleString()} <span class="muted">(<${Time} at=${at} ago=${true} />)</span>` : html`<span class="muted">never</span>`);

function Overview({kind, answer}) {
  const {record, object, rayJob} = answer;
  const code = (text) => text && html`<code>${text}</code>`;
  const facts = [
    ['Result', record.result], ['Reason', record.reason], ['Entrypoint', code(object?.spec?.entrypoint)], ['Submission', record.jobId],
    ['Cluster', record.cluster && record.cluster !== record.name && html`<${Link} to=${objectPath('clusters', record.namespace, record.cluster)}>${record.cluster}<//>`],
    ['Queue', record.queue], ['Exit code', rayJob?.DriverExitCode?.toString()], ['Created', html`<${When} at=${record.createTime} />`],
    ...(kind.plural === 'jobs' ? [['Started', html`<${When} at=${record.startTime} />`]] : []),
    ['Ended', html`<${When} at=${record.endTime} />`], ['Took', ageText(secondsOf(record))], ['UID', code(record.uid)],
  ].filter(([, value]) => value);
  return html`<div class="overview">
    <div class="column">
      ${kind.plural !== 'services' && html`<${Diagnosis} path=${urlOf(diagnosisPath(kind, record.namespace, record.name), runOf(record))} version="" />`}
      <${Conditions} conditions=${object?.status?.conditions ?? []} generation=${0} />
      ${kind.plural === 'jobs' && html`<section><h2 class="above">Attempts</h2><${PastOf} kind=${kind} namespace=${record.namespace} name=${record.name} current=${record} /></section>`}
      ${object && html`<${Groups} kind=${kind} object=${object} />`}
    </div>
    <div class="column side">
      <section class="card"><h2>Facts</h2><dl class="facts">${facts.map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl></section>
      <${Pairs} title="Labels" pairs=${object?.metadata?.labels} />
      <${Pairs} title="Annotations" pairs=${object?.metadata?.annotations} />
    </div>
  </div>`;
}

// Logs shows the log of the driver, or one of a node.
function Logs({kind, answer: {record, nodeLogs = []}}) {
  const logs = [...record.hasLog ? [{label: 'driver', query: {}}] : [],
    ...nodeLogs.map(({pod, node, head, file}) => ({label: `${file} of ${head ? 'the head' : pod || node}`, query: {file, node: pod || node}}))];
  const [chosen, choose] = useState(0);
  if (logs.length === 0) return html`<${Empty} title="There is no log">${(record.lost ?? []).map((text) => html`<p>${text}</p>`)}<//>`;
  const {namespace, name} = record;
  const {query} = logs[chosen];
  const path = urlOf(`/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}/logs`, {...runOf(record), ...query});
  return html`${logs.length > 1 && html`<div class="toolbar"><label class="field-inline">Log of <select class="input" value=${chosen} onChange=${(e) => choose(Number(e.target.value))}>
      ${logs.map(({label}, i) => html`<option key=${label} value=${i} selected=${i === chosen}>${label}</option>`)}</select></label></div>`}
    <${Log} path=${path} name=${[name, record.attempt > 1 && record.attempt, query.file].filter(Boolean).join('-')} />`;
}

function Events({answer}) {
  const events = [...answer.events ?? []].reverse();
  return html`<div class="toolbar"><span class="muted" role="status">${events.length} ${events.length === 1 ? 'event' : 'events'}</span></div>
    ${events.length === 0 ? html`<${Empty} title="No events"><p>The record has none.</p><//>` : html`<${EventTable} events=${events} />`}`;
}

// stateOf is why a container is as it is.
function stateOf(container) {
  const {waiting, terminated} = container.state ?? {};
  const last = terminated ?? container.lastState?.terminated;
  const how = last ? `${last.reason ?? 'Exited'} (${last.exitCode})` : waiting?.reason ?? 'Running';
  return `${container.name}: ${how}${container.restartCount ? `, ${container.restartCount} restarts` : ''}`;
}

function Pods({answer}) {
  const pods = answer.pods ?? [];
  if (pods.length === 0) return html`<${Empty} title="No Pods"><p>The record has none.</p><//>`;
  return html`<div class="table-wrap"><table class="table plain pods" aria-label="Pods">
    <thead><tr><th scope="col">Name</th><th scope="col">Group</th><th scope="col">Phase</th><th scope="col">Containers</th><th scope="col">Node</th></tr></thead>
    <tbody>${pods.map(({metadata, spec, status}) => html`<tr key=${metadata?.uid}>
      <th scope="row">${metadata?.name}</th><td data-label="Group">${metadata?.labels?.['ray.io/group'] ?? '–'}</td>
      <td data-label="Phase">${status?.phase}${status?.message && html`<p class="muted message">${status.message}</p>`}</td>
      <td data-label="Containers">${[...status?.initContainerStatuses ?? [], ...status?.containerStatuses ?? []].map((c) => html`<div>${stateOf(c)}</div>`)}</td>
      <td data-label="Node">${spec?.nodeName ?? '–'}</td></tr>`)}</tbody></table></div>`;
}

function YAML({path, answer: {record}}) {
  const {data, error, again} = useFetched((signal) => request('GET', path, {accept: 'application/yaml', signal}), path);
  if (!data) return error ? html`<${ErrorBox} error=${error} title="The record cannot be shown." onRetry=${again} />` : html`<${Spinner} />`;
  return html`<${Text} text=${data} name=${record.name}>The record, with the ${record.kind} as <code>object</code><//>`;
}
