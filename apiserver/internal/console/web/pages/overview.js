// The overview of an object: facts, what diagnose says, conditions, worker groups, labels.
import {Badge, cls, ErrorBox, html, Spinner, Time} from '../lib/ui.js';
import {request} from '../lib/api.js';
import {useEvery} from '../lib/again.js';
import {useFetched} from '../lib/fetched.js';
import {applications, kindNamed} from '../lib/kinds.js';
import {Link, objectPath} from '../lib/router.js';

export function Overview({kind, object, rights}) {
  const meta = object.metadata;
  const queue = meta.labels?.['kueue.x-k8s.io/queue-name'];
  const waits = object.spec?.suspend && kind.plural !== 'services'; // Kueue suspends the clusters of a service
  const facts = [...kind.facts(object), ...(queue ? [['Queue', waits ? `${queue} (waits)` : queue]] : []), ['Created', html`<${Time} at=${meta.creationTimestamp} ago=${true} />`],
    ...(meta.ownerReferences ?? []).filter((o) => kindNamed(o.kind)).map((o) => ['Belongs to', html`<${Owner} owner=${o} namespace=${meta.namespace} />`])];
  return html`<div class="overview">
    <div class="column">
      <${Diagnosis} path=${diagnosisPath(kind, meta.namespace, meta.name)} version=${meta.resourceVersion} />
      <${Conditions} conditions=${object.status?.conditions ?? []} generation=${Number(meta.generation ?? 0)} />
      <${Applications} list=${applications(object)} />
      <${Groups} kind=${kind} object=${object} rights=${rights} />
    </div>
    <div class="column side">
      <section class="card"><h2>Facts</h2><dl class="facts">${facts.map(([label, value]) => html`<div key=${label}><dt>${label}</dt><dd>${value}</dd></div>`)}</dl></section>
      <${Pairs} title="Labels" pairs=${meta.labels} />
      <${Pairs} title="Annotations" pairs=${meta.annotations} />
    </div>
  </div>`;
}

const Owner = ({owner, namespace}) => html`<${Link} to=${objectPath(kindNamed(owner.kind).plural, namespace, owner.name)}>${owner.kind} ${owner.name}<//>`;

const severities = {ERROR: ['error', 'Error'], WARNING: ['warn', 'Warning'], INFO: ['idle', 'Note']};

// diagnosisPath is the path of the API.
export const diagnosisPath = (kind, namespace, name) => `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}:diagnose`;

// Diagnosis is what the gateway makes of an object, its Pods, events and logs. It is asked anew whenever the version changes.
export function Diagnosis({path, version}) {
  const {data, error, loading, again} = useFetched((signal) => request('GET', path, {signal}), version);
  const findings = data?.findings ?? [];
  useEvery(findings.some((f) => f.object?.kind === 'Workload'), again); // positions in a queue change without a change of the object
  return html`<section class="card" aria-busy=${loading ? 'true' : 'false'}>
    <h2>Diagnosis</h2>
    <${ErrorBox} error=${error} title="No diagnosis." onRetry=${again} />
    ${!data && loading && html`<${Spinner} label="Looking at Pods, events and logs" />`}
    ${data && findings.length === 0 && html`<p class="quiet"><${Badge} tone="ok">Nothing is wrong<//></p>`}
    ${findings.length > 0 && html`<ol class="findings">${findings.map((f) => html`<${Finding} finding=${f} />`)}</ol>`}
  </section>`;
}

function Finding({finding}) {
  const [tone, label] = severities[finding.severity] ?? severities.INFO;
  const [first, ...lines] = (finding.message ?? '').split('\n');
  return html`<li class=${cls('finding', tone)}>
    <div class="finding-head"><${Badge} tone=${tone}>${label}<//><strong>${finding.reason}</strong>
      ${finding.object && html`<span class="muted">${finding.object.kind} <code>${finding.object.name}</code></span>`}</div>
    <p>${first}</p>
    ${lines.length > 0 && html`<pre class="block" tabindex="0">${lines.join('\n')}</pre>`}
    ${finding.remedy && html`<p class="remedy"><span class="muted">What to do:</span> ${finding.remedy}</p>`}
  </li>`;
}

// bad are the conditions that are good news when they are false.
const bad = /(Failure|InvalidSpec|Stalled|Problem|Unreachable|Failed|RollbackInProgress)$/;

function conditionTone(c) {
  if (c.status === 'Unknown' || c.type === 'Reconciling') return 'warn';
  if (bad.test(c.type)) return c.status === 'True' ? 'error' : 'idle';
  return c.status === 'True' ? 'ok' : 'idle';
}

// Conditions are those of an object, which is at a generation.
export function Conditions({conditions, generation}) {
  return html`<section class="card"><h2>Conditions</h2>
    ${conditions.length === 0 ? html`<p class="muted">The operator has set none yet.</p>` : html`
    <table class="table plain conditions"><thead><tr><th scope="col">Type</th><th scope="col">Status</th><th scope="col">Reason</th><th scope="col" class="end">Since</th></tr></thead>
      <tbody>${conditions.map((c) => html`<tr key=${c.type}>
        <th scope="row">${c.type}</th>
        <td><${Badge} tone=${conditionTone(c)}>${c.status}<//>${Number(c.observedGeneration ?? generation) < generation && html` <span class="muted" title="The operator has not yet seen the present spec.">old</span>`}</td>
        <td><span class="reason">${c.reason}</span>${c.message && html`<p class="muted">${c.message}</p>`}</td>
        <td class="end"><${Time} at=${c.lastTransitionTime} /></td></tr>`)}</tbody></table>`}
  </section>`;
}

const appTones = {RUNNING: 'ok', DEPLOYING: 'busy', NOT_STARTED: 'idle', DELETING: 'busy', DEPLOY_FAILED: 'error', UNHEALTHY: 'error'};
const deploymentTones = {HEALTHY: 'ok', UPDATING: 'busy', UNHEALTHY: 'error'};

function Applications({list}) {
  if (!list.length) return null;
  return html`<section class="card"><h2>Applications</h2><table class="table plain"><thead><tr><th scope="col">Name</th><th scope="col">Status</th><th scope="col">Says</th></tr></thead>
    <tbody>${list.flatMap((a) => [html`<tr key=${a.name}><th scope="row">${a.name}</th><td><${Badge} tone=${appTones[a.status]}>${a.status}<//></td><td class="muted">${a.message}</td></tr>`,
      ...Object.entries(a.serveDeploymentStatuses ?? {}).map(([name, d]) => html`<tr key=${a.name + '/' + name} class="sub"><th scope="row">${name}</th>
        <td><${Badge} tone=${deploymentTones[d.status]}>${d.status}<//></td><td class="muted">${d.message}</td></tr>`)])}</tbody></table></section>`;
}

// Groups lists the worker groups. For a cluster it also counts the workers that are ready, if the user may list Pods. Without rights the object is a past one.
export function Groups({kind, object, rights}) {
  const groups = kind.groups(object);
  const {namespace, name, resourceVersion} = object.metadata;
  const counted = kind.plural === 'clusters' && groups.length > 0 && rights?.can('list', 'pods');
  const path = `/ui/api/namespaces/${encodeURIComponent(namespace)}/${kind.resource}/${encodeURIComponent(name)}/pods`;
  const {data} = useFetched((signal) => (counted ? request('GET', path, {signal}) : Promise.resolve(null)), `${resourceVersion} ${counted}`);
  if (!groups.length) return null;
  const ready = (g) => (data ? data.pods.filter((p) => p.type === 'worker' && p.group === g.name && p.total > 0 && p.ready === p.total).length : '–');
  const desired = (g) => (g.suspend ? 0 : g.replicas * g.hosts);
  return html`<section class="card"><h2>Worker groups</h2><table class="table plain" aria-label="Worker groups"><thead><tr><th scope="col">Group</th>
    ${counted && html`<th scope="col" class="end">Ready</th><th scope="col" class="end">Desired</th>`}
    <th scope="col" class="end">Replicas</th><th scope="col" class="end">Minimum</th><th scope="col" class="end">Maximum</th></tr></thead>
    <tbody>${groups.map((g) => html`<tr key=${g.name}><th scope="row">${g.name || '(no name)'}${g.suspend && html` <${Badge} tone="idle">Suspended<//>`}</th>
      ${counted && html`<td data-label="Ready" class="end">${ready(g)}</td><td data-label="Desired" class="end">${desired(g)}</td>`}
      <td data-label="Replicas" class="end">${g.replicas}</td>
      <td data-label="Minimum" class="end">${g.min}</td><td data-label="Maximum" class="end">${g.max === undefined || g.max >= 2147483647 ? 'any' : g.max}</td></tr>`)}</tbody></table></section>`;
}

// Pairs are labels or annotations.
export function Pairs({title, pairs}) {
  const all = Object.entries(pairs ?? {}).sort(([a], [b]) => a.localeCompare(b));
  if (!all.length) return null;
  return html`<section class="card"><h2>${title}</h2><dl class="pairs">${all.map(([key, value]) => html`<div key=${key}><dt>${key}</dt><dd>${value}</dd></div>`)}</dl></section>`;
}
