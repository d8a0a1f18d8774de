// The kinds: where the API has them, what lists and pages show of them, and what rights they need. Nothing else knows one kind from another.
import {ageText as ageOf, Badge, html, Time} from './ui.js';
import {bytesText, countText, quantity} from './quantity.js';
import {Link, objectPath} from './router.js';

// conditionOf returns a condition of an object, {} when it is not there.
export const conditionOf = (object, type) => (object.status?.conditions ?? []).find((c) => c.type === type) ?? {};

const is = (object, type) => conditionOf(object, type).status === 'True';

const state = (tone, text, why = '') => ({tone, text, why});

// firstTrue is the first of the condition types that is true.
const firstTrue = (object, types) => types.map((type) => conditionOf(object, type)).find((c) => c.status === 'True');

function clusterState(o) {
  if (o.metadata.deletionTimestamp) return state('busy', 'Deleting');
  const problem = firstTrue(o, ['InvalidSpec', 'Stalled', 'ReplicaFailure', 'ChildFailure', 'BatchSchedulerProblem']);
  if (o.status?.state === 'failed' || is(o, 'InvalidSpec')) return state('error', 'Invalid', problem?.message ?? o.status?.reason);
  if (o.spec?.suspend) return o.status?.state === 'suspended' || is(o, 'RayClusterSuspended') ? state('idle', 'Suspended') : state('busy', 'Suspending');
  if (problem) return state('error', problem.type === 'Stalled' ? 'Stalled' : 'Failing', problem.message);
  const {readyWorkerReplicas: ready = 0, desiredWorkerReplicas: desired = 0} = o.status ?? {};
  if (o.status?.state === 'ready') {
    const head = conditionOf(o, 'HeadPodReady');
    if (head.status && head.status !== 'True') return state('warn', 'Head not ready', head.message);
    return ready < desired ? state('busy', 'Scaling', `${ready} of ${desired} workers are ready`) : state('ok', 'Ready');
  }
  const waits = conditionOf(o, 'Reconciling');
  if (['Unschedulable', 'SchedulingGated', 'QuotaExceeded'].includes(waits.reason)) return state('warn', 'Waiting', waits.message);
  return state('busy', o.status ? 'Starting' : 'New', conditionOf(o, 'RayClusterProvisioned').message);
}

const jobTones = {Complete: 'ok', Failed: 'error', ValidationFailed: 'error', Running: 'busy', Suspended: 'idle', Waiting: 'warn'};

function jobState(o) {
  if (o.metadata.deletionTimestamp) return state('busy', 'Deleting');
  const {jobDeploymentStatus: status, jobStatus, message, reason} = o.status ?? {};
  if (is(o, 'InvalidSpec')) return state('error', 'Invalid', conditionOf(o, 'InvalidSpec').message);
  if (status === 'Complete') return jobStatus === 'STOPPED' ? state('idle', 'Stopped', message) : state('ok', 'Succeeded', message);
  if (is(o, 'DashboardUnreachable')) return state('warn', 'No contact', conditionOf(o, 'DashboardUnreachable').message);
  if (!status) return state(o.spec?.suspend ? 'idle' : 'busy', o.spec?.suspend ? 'Suspended' : 'New');
  return state(jobTones[status] ?? 'busy', status === 'ValidationFailed' ? 'Invalid' : status, message || reason);
}

function serviceState(o) {
  if (o.metadata.deletionTimestamp) return state('busy', 'Deleting');
  if (is(o, 'Stalled')) return state('error', 'Stalled', conditionOf(o, 'Stalled').message);
  if (o.spec?.suspend) return is(o, 'Suspended') ? state('idle', 'Suspended') : state('busy', 'Suspending');
  if (is(o, 'RollbackInProgress')) return state('warn', 'Rolling back', conditionOf(o, 'RollbackInProgress').message);
  if (is(o, 'UpgradeInProgress')) return state('busy', 'Upgrading', conditionOf(o, 'UpgradeInProgress').message);
  if (is(o, 'Ready')) {
    const sick = applications(o).find((a) => a.status !== 'RUNNING');
    return sick ? state('warn', 'Degraded', `application ${sick.name} is ${sick.status}`) : state('ok', 'Ready');
  }
  const ready = conditionOf(o, 'Ready');
  return ready.reason === 'InitializingTimeout' ? state('error', 'Failed', ready.message) : state('busy', o.status?.conditions ? 'Starting' : 'New', ready.message);
}

function cronState(o) {
  if (o.metadata.deletionTimestamp) return state('busy', 'Deleting');
  return o.spec?.suspend ? state('idle', 'Suspended') : state('ok', 'Scheduled');
}

// applications of a service, those of the active cluster, with their names.
export const applications = (o) => Object.entries(o.status?.activeServiceStatus?.applicationStatuses ?? {}).map(([name, a]) => ({name, ...a}));

const workers = (o) => {
  const {readyWorkerReplicas: ready = 0, desiredWorkerReplicas: desired = 0} = o.status ?? {};
  return `${ready}/${desired}`;
};

const number = (text) => Number(text ?? 0) || 0;

// count is a cell with a quantity of CPUs and the like; bytes one of memory.
const count = (text) => countText(text) || dash;
const bytes = (text) => {
  const [n, unit] = bytesText(text) ?? [];
  return unit ? html`${n} <span class="muted">${unit}</span>` : dash;
};

const seconds = (from, to) => (from ? (new Date(to ?? Date.now()) - new Date(from)) / 1000 : 0);

const dash = html`<span class="muted">–</span>`;

// text is a cell that may be empty.
const text = (value) => (value === undefined || value === '' || value === null ? dash : value);

const toCluster = (o, name) => (name ? html`<${Link} to=${objectPath('clusters', o.metadata.namespace, name)}>${name}<//>` : dash);

// A column has an id, a label, the value that lists are sorted and filtered by (not filtered, if hidden), and what the cell shows, by default that value. end
// aligns numbers; where there is little room only those stay that are main or brief.
const name = {id: 'name', label: 'Name', main: true, value: (o) => o.metadata.name};
const namespace = {id: 'namespace', label: 'Namespace', brief: true, value: (o) => o.metadata.namespace};
const age = {id: 'age', label: 'Age', end: true, brief: true, value: (o) => -Date.parse(o.metadata.creationTimestamp), cell: (o) => html`<${Time} at=${o.metadata.creationTimestamp} />`, hidden: true};
const stateColumn = (of) => ({
  id: 'state', label: 'State', main: true, value: (o) => of(o).text,
  cell: (o) => {
    const s = of(o);
    return html`<${Badge} tone=${s.tone} title=${s.why}>${s.text}<//>`;
  },
});
const amount = (id, label, field, show = count) => ({id, label, end: true, value: (o) => quantity(field(o)), cell: (o) => show(field(o))});

const yes = (value) => (value ? 'yes' : 'no');

const groups = (spec) => (spec?.workerGroupSpecs ?? []).map((g) => ({name: g.groupName, replicas: g.replicas ?? 0, min: g.minReplicas ?? 0, max: g.maxReplicas, hosts: g.numOfHosts ?? 1, suspend: g.suspend}));

const overview = {id: 'overview', label: 'Overview'};
const pods = {id: 'pods', label: 'Pods', needs: ['list', 'pods']};
const events = {id: 'events', label: 'Events', needs: ['list', 'events']};
const yaml = {id: 'yaml', label: 'YAML'};
const logs = {id: 'logs', label: 'Logs'};
const submissions = {id: 'submissions', label: 'Submissions', needs: ['get', 'services', 'proxy']};
const upgrade = {id: 'upgrade', label: 'Upgrade'};
const past = {id: 'past', label: 'Attempts', history: true};

// A kind has
//   plural, resource, kind: its names in paths, in Kubernetes' API and in YAML; one, label: for people; message: the field of a watch message
//   state(object): {tone, text, why}
//   columns: of its list; facts(object): [label, value] for its page
//   clusterSpec(object): the spec of its Ray cluster, if it has one; groups(object): its worker groups
//   tabs: of its page, with the right that one needs; history: only if the gateway has a history store
//   results: of its records in the history, for a filter; undefined if it has no records
//   actions: what may be done with it, by the words of the API
export const kinds = {
  clusters: {
    plural: 'clusters', resource: 'rayclusters', kind: 'RayCluster', one: 'cluster', label: 'Clusters', message: 'cluster', state: clusterState,
    columns: [name, namespace, stateColumn(clusterState),
      {id: 'workers', label: 'Workers', end: true, brief: true, value: (o) => number(o.status?.readyWorkerReplicas), cell: workers},
      amount('cpu', 'CPU', (o) => o.status?.desiredCPU), amount('memory', 'Memory', (o) => o.status?.desiredMemory, bytes), amount('gpu', 'GPU', (o) => o.status?.desiredGPU),
      {id: 'version', label: 'Ray', value: (o) => o.spec?.rayVersion ?? '', cell: (o) => text(o.spec?.rayVersion)}, age],
    facts: (o) => [['Workers', `${workers(o)} ready`], ['CPU', count(o.status?.desiredCPU)], ['Memory', bytes(o.status?.desiredMemory)], ['GPU', count(o.status?.desiredGPU)],
      ['Ray version', text(o.spec?.rayVersion)], ['Autoscaling', yes(o.spec?.enableInTreeAutoscaling)], ['Head Pod', text(o.status?.head?.podName)],
      ['Head Service', text(o.status?.head?.serviceName)]],
    clusterSpec: (o) => o.spec, groups: (o) => groups(o.spec),
    tabs: [overview, pods, events, submissions, yaml], actions: ['scale', 'suspend', 'resume', 'delete'], results: ['ready', 'failed', 'suspended', 'unknown'],
  },
  jobs: {
    plural: 'jobs', resource: 'rayjobs', kind: 'RayJob', one: 'job', label: 'Jobs', message: 'job', state: jobState,
    columns: [name, namespace, stateColumn(jobState), {id: 'ray', label: 'Ray says', value: (o) => o.status?.jobStatus ?? '', cell: (o) => text(o.status?.jobStatus)},
      {id: 'cluster', label: 'Cluster', value: (o) => o.status?.rayClusterName ?? '', cell: (o) => toCluster(o, o.status?.rayClusterName)},
      {id: 'duration', label: 'Duration', end: true, brief: true, hidden: true, value: (o) => seconds(o.status?.startTime, o.status?.endTime), cell: (o) => duration(o)}, age],
    facts: (o) => [['Entrypoint', html`<code>${o.spec?.entrypoint ?? ''}</code>`], ['Submission', text(o.status?.jobId)], ['Cluster', toCluster(o, o.status?.rayClusterName)],
      ['Started', html`<${Time} at=${o.status?.startTime} ago=${true} />`], ['Ended', html`<${Time} at=${o.status?.endTime} ago=${true} />`], ['Submission mode', o.spec?.submissionMode ?? 'K8sJobMode'],
      ['Tries', `${o.status?.succeeded ?? 0} succeeded, ${o.status?.failed ?? 0} failed`], ['Shuts down after', yes(o.spec?.shutdownAfterJobFinishes)],
      ...(o.status?.previousAttempts ?? []).map((a) => [`Attempt ${a.attempt}`, html`${a.reason} on ${a.rayClusterName} <${Time} at=${a.endTime} ago=${true} />`])],
    clusterSpec: (o) => o.spec?.rayClusterSpec, groups: (o) => groups(o.spec?.rayClusterSpec),
    tabs: [overview, logs, pods, events, yaml, past], actions: ['stop', 'suspend', 'resume', 'delete'], results: ['SUCCEEDED', 'FAILED', 'STOPPED'],
  },
  services: {
    plural: 'services', resource: 'rayservices', kind: 'RayService', one: 'service', label: 'Services', message: 'service', state: serviceState,
    columns: [name, namespace, stateColumn(serviceState),
      {id: 'endpoints', label: 'Endpoints', end: true, brief: true, value: (o) => number(o.status?.numServeEndpoints)},
      {id: 'applications', label: 'Applications', end: true, value: (o) => applications(o).length, cell: (o) => applicationsText(o)},
      {id: 'cluster', label: 'Cluster', value: (o) => o.status?.activeServiceStatus?.rayClusterName ?? '', cell: (o) => toCluster(o, o.status?.activeServiceStatus?.rayClusterName)}, age],
    facts: (o) => [['Endpoints', String(number(o.status?.numServeEndpoints))], ['Active cluster', toCluster(o, o.status?.activeServiceStatus?.rayClusterName)],
      ['Pending cluster', toCluster(o, o.status?.pendingServiceStatus?.rayClusterName)], ['Upgrades', o.spec?.upgradeStrategy?.type ?? 'NewCluster'],
      ['Ray version', text(o.spec?.rayClusterConfig?.rayVersion)]],
    clusterSpec: (o) => o.spec?.rayClusterConfig, groups: (o) => groups(o.spec?.rayClusterConfig),
    tabs: [overview, upgrade, pods, events, yaml], actions: ['scale', 'suspend', 'resume', 'delete'], results: ['Running', 'unknown'],
  },
  cronjobs: {
    plural: 'cronjobs', resource: 'raycronjobs', kind: 'RayCronJob', one: 'cron job', label: 'Cron jobs', message: 'cronJob', state: cronState,
    columns: [name, namespace, stateColumn(cronState), {id: 'schedule', label: 'Schedule', value: (o) => o.spec?.schedule ?? '', cell: (o) => html`<code>${o.spec?.schedule}</code>`},
      {id: 'last', label: 'Last run', end: true, hidden: true, value: (o) => Date.parse(o.status?.lastScheduleTime) || 0, cell: (o) => html`<${Time} at=${o.status?.lastScheduleTime} />`},
      {id: 'next', label: 'Next run', end: true, brief: true, hidden: true, value: (o) => Date.parse(o.status?.nextScheduleTime) || Infinity, cell: (o) => html`<${Time} at=${o.status?.nextScheduleTime} />`}, age],
    facts: (o) => [['Schedule', html`<code>${o.spec?.schedule}</code>`], ['Time zone', o.spec?.timeZone ?? 'that of the operator'],
      ['Last run', html`<${Time} at=${o.status?.lastScheduleTime} ago=${true} />`], ['Next run', html`<${Time} at=${o.status?.nextScheduleTime} ago=${true} />`],
      ['Entrypoint', html`<code>${o.spec?.jobTemplate?.entrypoint ?? ''}</code>`]],
    clusterSpec: (o) => o.spec?.jobTemplate?.rayClusterSpec, groups: (o) => groups(o.spec?.jobTemplate?.rayClusterSpec),
    tabs: [overview, pods, events, yaml], actions: ['trigger', 'suspend', 'resume', 'delete'],
  },
};

function duration(o) {
  const {startTime, endTime} = o.status ?? {};
  if (!startTime) return dash;
  return endTime ? ageOf(seconds(startTime, endTime)) : html`<${Time} at=${startTime} />`;
}

function applicationsText(o) {
  const all = applications(o);
  if (!all.length) return dash;
  const running = all.filter((a) => a.status === 'RUNNING').length;
  return `${running}/${all.length} running`;
}

// kindOf returns the kind of a path, and kindNamed that of a Kubernetes kind; undefined for others.
export const kindOf = (plural) => (Object.hasOwn(kinds, plural) ? kinds[plural] : undefined);
export const kindNamed = (kind) => Object.values(kinds).find((k) => k.kind === kind);
