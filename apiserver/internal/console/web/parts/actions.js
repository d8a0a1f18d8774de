// The actions on an object, as buttons. Actions without permission are hidden.
import {Button, Confirm, Dialog, ErrorBox, html, Link, navigate, toast, useID, useState} from '../lib/ui.js';
import {ApiError, Code, request} from '../lib/api.js';
import {listPath, objectPath} from '../lib/router.js';
import {actionsOf, consequenceOf, groupsOf, isSize, sizeProblem} from './allowed.js';

const pathOf = (kind, object) => `/apis/v2/namespaces/${encodeURIComponent(object.metadata.namespace)}/${kind.plural}/${encodeURIComponent(object.metadata.name)}`;

// openDashboard opens the dashboard of a cluster, or of the record that query names, in a tab that knows nothing of this page: what it shows comes from the cluster.
export async function openDashboard(path, query) {
  let ticket;
  try {
    ticket = await request('POST', path + '/dashboard:ticket', {query});
  } catch (err) {
    if (err.reason === 'PATH_NOT_FOUND') {
      err.message = 'This gateway shows no dashboards: it knows callers by their connection, which a page in a sandbox does not have.';
    }
    throw err;
  }
  if (navigator.userActivation && !navigator.userActivation.isActive) { // the answer took so long that the browser would open nothing
    throw new ApiError({code: Code.DEADLINE_EXCEEDED, message: 'The answer took long, and the browser opens no tab by now. Press Dashboard again.'});
  }
  open(ticket.path, '_blank', 'noopener,noreferrer');
}

// perform does an action of one call and says so.
async function perform(name, kind, object) {
  const title = `${kind.kind} ${object.metadata.name}`;
  const path = pathOf(kind, object);
  switch (name) {
    case 'delete':
      await request('DELETE', path, {query: {uid: object.metadata.uid, allowMissing: true}});
      toast(`${title} is being deleted.`);
      navigate(listPath(kind.plural, object.metadata.namespace));
      return;
    case 'trigger': {
      const job = await request('POST', path + ':trigger');
      toast(`${title} has made RayJob ${job.metadata.name}.`);
      navigate(objectPath('jobs', job.metadata.namespace, job.metadata.name));
      return;
    }
    case 'keep': {
      const until = new Date(Date.now() + 2 * 3600_000).toISOString();
      await request('PATCH', path, {body: {metadata: {annotations: {'raygate.io/keep-until': until}}}});
      toast(`${title} is neither suspended nor deleted as idle or old for 2 hours.`);
      return;
    }
    case 'dashboard':
      await openDashboard(path);
      return;
    default:
      await request('POST', `${path}:${name}`);
      toast({suspend: `${title} is being suspended.`, resume: `${title} is resumed.`, stop: `Ray is asked to stop ${title}.`}[name]);
  }
}

const dangerous = new Set(['delete', 'suspend', 'stop']);
// typedFor are the kinds whose deletion takes running work or traffic with it: their name has to be typed.
const typedFor = new Set(['clusters', 'services']);

// Actions are the buttons of an object.
export function Actions({kind, object, rights}) {
  const [open, setOpen] = useState('');
  const [busy, setBusy] = useState('');
  const [error, setError] = useState(null);
  const all = actionsOf(kind.plural, kind.resource, object, rights.can);
  const close = () => setOpen('');
  const start = async (name) => {
    setError(null);
    if (dangerous.has(name) || name === 'scale') {
      setOpen(name);
      return;
    }
    setBusy(name);
    try {
      await perform(name, kind, object);
    } catch (err) {
      setError(err);
    }
    setBusy('');
  };
  const {namespace, name: objectName} = object.metadata;
  const links = {submit: `/ui/submit?namespace=${encodeURIComponent(namespace)}&cluster=${encodeURIComponent(objectName)}`};
  const label = all.find((a) => a.name === open)?.label ?? '';
  return html`<div class="action-group" role="group" aria-label=${`Actions on ${objectName}`}>
    ${all.map((a) => (links[a.name]
      ? html`<${Link} key=${a.name} class="button" to=${links[a.name]}>${a.label}<//>`
      : html`<${Button} key=${a.name} kind=${a.name === 'delete' ? 'danger' : ''} busy=${busy === a.name} onClick=${() => start(a.name)}>${a.label}<//>`))}
    <${ErrorBox} error=${error} />
    ${dangerous.has(open) && html`<${Confirm} title=${`${label} ${objectName}?`} action=${label} danger=${open !== 'suspend'} typed=${open === 'delete' && typedFor.has(kind.plural) ? objectName : ''}
      onConfirm=${() => perform(open, kind, object)} onClose=${close}><p>${consequenceOf(open, kind.plural, object)}</p><//>`}
    ${open === 'scale' && html`<${Scale} kind=${kind} object=${object} onClose=${close} />`}
  </div>`;
}

// Scale asks for the sizes of worker groups. It sends the groups that were changed, one after the other.
function Scale({kind, object, onClose}) {
  const [before] = useState(() => groupsOf(object)); // the object goes on changing while one types
  const [groups, setGroups] = useState(() => before.map((g) => ({...g, replicas: String(g.replicas), min: String(g.min), max: String(g.max)})));
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const form = useID('scale');
  const autoscaled = Boolean((object.spec.rayClusterConfig ?? object.spec).enableInTreeAutoscaling);
  const numbers = groups.map((g) => ({replicas: numberOf(g.replicas), min: numberOf(g.min), max: numberOf(g.max)}));
  const changes = numbers.map((n, i) => changesOf(before[i], n));
  const problems = numbers.map((n, i) => (changes[i] ? sizeProblem(n) : ''));
  const gone = object.metadata.deletionTimestamp;
  const set = (i, field) => (e) => {
    const value = e.currentTarget.value;
    setGroups((all) => all.map((g, n) => (n === i ? {...g, [field]: value} : g)));
  };
  const submit = async (e) => {
    e.preventDefault();
    if (problems.some(Boolean)) {
      return;
    }
    setBusy(true);
    setError(null);
    try {
      for (let i = 0; i < groups.length; i++) {
        if (changes[i]) {
          await request('POST', pathOf(kind, object) + ':scale', {body: {workerGroup: before[i].name, ...changes[i]}});
          before[i] = {...before[i], ...numbers[i]}; // what was sent is not sent again after an error of a later group
        }
      }
      toast(`${kind.kind} ${object.metadata.name} is being scaled.`);
      onClose();
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  const footer = html`<${Button} onClick=${onClose}>Cancel<//>
    <${Button} type="submit" form=${form} kind="primary" busy=${busy} disabled=${gone || !changes.some(Boolean) || problems.some(Boolean)}>Scale<//>`;
  return html`<${Dialog} title=${`Scale ${object.metadata.name}`} onClose=${onClose} footer=${footer}>
    <form id=${form} onSubmit=${submit}>
      ${autoscaled && html`<p class="muted">Ray's autoscaler sets the replicas of this cluster, between the minimum and the maximum.</p>`}
      ${gone && html`<p role="alert">The object is being deleted.</p>`}
      ${groups.map((g, i) => html`<fieldset key=${g.name} class="scale-group"><legend>${g.name}${g.suspended && ' (suspended)'}</legend>
        <div class="scale-fields">
        ${[['replicas', 'Replicas'], ['min', 'Minimum'], ['max', 'Maximum']].map(([field, text]) => html`<label key=${field} class="field">${text}
          <input class="input" type="number" min="0" max="2147483647" step="1" inputmode="numeric" required value=${g[field]} aria-describedby=${problems[i] ? `${form}-${i}` : undefined}
            aria-invalid=${isSize(numbers[i][field]) ? undefined : 'true'} onInput=${set(i, field)} /></label>`)}
        </div>
        <p class="field-problem" id=${`${form}-${i}`} role="status">${problems[i]}</p>
      </fieldset>`)}
      <${ErrorBox} error=${error} title=${error?.code === Code.NOT_FOUND ? 'It is not there any more.' : undefined} />
    </form>
  <//>`;
}

const numberOf = (text) => (/^\d+$/.test(text.trim()) ? Number(text) : NaN);

// changesOf are the fields of a group to send; null for none.
function changesOf(before, now) {
  const changes = {};
  for (const [field, name] of [['replicas', 'replicas'], ['min', 'minReplicas'], ['max', 'maxReplicas']]) {
    if (now[field] !== before[field]) {
      changes[name] = now[field];
    }
  }
  return Object.keys(changes).length === 0 ? null : changes;
}
