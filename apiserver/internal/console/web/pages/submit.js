// The page that submits a job: as a RayJob with a cluster of its own, or to a cluster that runs.
import {Button, cls, ErrorBox, html, navigate, toast, useEffect, useRef, useState, useTitle, Warnings} from '../lib/ui.js';
import {useAgain, useEvery} from '../lib/again.js';
import {request} from '../lib/api.js';
import {useRights} from '../lib/rights.js';
import {objectPath} from '../lib/router.js';
import {keepDraft} from '../parts/draft.js';
import {Files, send} from '../parts/files.js';
import {newRequestID} from '../parts/leaving.js';
import {withWorkingDir} from '../parts/package.js';
import {jobOf, submissionOf} from '../parts/templates.js';

const maxClusters = 1000;

// useList reads a list of a namespace; none without a namespace.
function useList(namespace, collection, query, read) {
  const [state, setState] = useState({items: [], error: null});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!namespace) {
      setState({items: [], error: null});
      return undefined;
    }
    const control = new AbortController();
    request('GET', `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${collection}`, {query, signal: control.signal}).then(
      (list) => setState({items: read(list) ?? [], error: null}),
      (error) => control.signal.aborted || setState({items: [], error}),
    );
    return () => control.abort();
  }, [namespace, turn]);
  useAgain(state.error, () => setTurn((n) => n + 1));
  return state;
}

// useClusters lists the clusters of a namespace that are ready.
const useClusters = (namespace) => useList(namespace, 'clusters', {filter: 'state = "ready"', pageSize: maxClusters}, (list) => list.items?.map((c) => c.metadata.name));

// useProfiles lists the profiles of a namespace. Callers without the right to list them have none to choose.
const useProfiles = (namespace) => useList(namespace, 'profiles', {}, (list) => list.profiles?.filter((p) => !p.mistake));

// useQueues lists the LocalQueues of a namespace. Callers without the right to list them type the name.
const useQueues = (namespace) => useList(namespace, 'queues', {}, (list) => list.queues?.map((q) => q.name));

const numbers = [['workers', 'Workers', '0 runs it on the head alone'], ['cpu', 'CPUs per Pod', 'such as 1 or 500m'], ['memory', 'Memory per Pod', 'such as 2Gi']];

const placing = [['queue', 'Queue', 'a LocalQueue of Kueue'], ['priorityClass', 'Priority class', 'a WorkloadPriorityClass of Kueue'], ['labels', 'Labels', 'such as team=a, cost=42']];

// entrypointHint says how the entrypoint is run. The submitter of a RayJob takes it apart into words, and what is behind a ; would not be part of it.
const entrypointHint = {own: "one command with its arguments; several go in one word, as in bash -c 'cd app && python train.py'", cluster: 'the command that runs, as in a shell'};

// Submit is /ui/submit?namespace=&cluster=.
export function Submit({route}) {
  const cluster = route.query.get('cluster') ?? '';
  const [to, setTo] = useState(cluster ? 'cluster' : 'own');
  const [form, setForm] = useState({namespace: route.query.get('namespace') || 'default', cluster, name: '', entrypoint: '', runtimeEnv: '', version: '2.60.0', image: '', workers: '1', cpu: '1', memory: '2Gi', profile: '', replicas: '', queue: '', priorityClass: '', labels: ''});
  const [namespace, setNamespace] = useState(form.namespace); // the one that rights and clusters are asked for, once it is typed
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [picked, setPicked] = useState(null);
  const requestID = useRef('');
  const rights = useRights(namespace);
  const clusters = useClusters(to === 'cluster' ? namespace : '');
  const profiles = useProfiles(to === 'own' ? namespace : '').items;
  const queues = useQueues(to === 'own' ? namespace : '').items;
  const profile = profiles.find((p) => p.name === form.profile);
  useTitle('Submit a job');
  useEffect(() => {
    const timer = setTimeout(() => setNamespace(form.namespace.trim()), 400);
    return () => clearTimeout(timer);
  }, [form.namespace]);
  const set = (field) => (e) => {
    const {value} = e.currentTarget;
    requestID.current = '';
    setForm((f) => ({...f, [field]: value}));
  };
  const wantedRight = to === 'own' ? ['create', 'rayjobs'] : ['create', 'services', 'proxy'];
  const mayNot = rights.loaded && !rights.error && !rights.can(...wantedRight);
  useEvery(mayNot, rights.again);
  const job = (more = {}) => jobOf({...form, name: form.name.trim(), namespace: form.namespace.trim(), profile: profile?.name, workers: Number(profile ? form.replicas : form.workers), cpu: form.cpu.trim(), memory: form.memory.trim(), image: form.image.trim(), version: form.version.trim(),
    queue: form.queue.trim(), priorityClass: form.priorityClass.trim(), ...more});
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    requestID.current ||= newRequestID();
    const base = `/apis/v2/namespaces/${encodeURIComponent(form.namespace.trim())}`;
    try {
      const files = async (target) => (picked ? {runtimeEnv: withWorkingDir(form.runtimeEnv, await send(picked, base, target))} : {});
      if (to === 'own') {
        const name = form.name.trim() || (picked ? `rayjob-${requestID.current.slice(0, 8)}` : ''); // the URL of the files is for a job of this name
        const body = job({name, ...await files({job: name})});
        const made = await request('POST', base + '/jobs', {query: {requestId: requestID.current}, body, contentType: 'application/yaml'});
        toast(`RayJob ${made.metadata.name} is created.`);
        navigate(objectPath('jobs', made.metadata.namespace, made.metadata.name, 'logs'));
      } else {
        const id = form.name.trim() || `raysubmit_${requestID.current.replaceAll('-', '').slice(0, 16)}`; // ours, so that sending it again makes no second job
        const made = await request('POST', `${base}/clusters/${encodeURIComponent(form.cluster)}/submissions`, {body: submissionOf({...form, id, ...await files({cluster: form.cluster})}), contentType: 'application/yaml'});
        toast(`Job ${made.submissionId} is submitted.`);
        navigate(`${objectPath('clusters', form.namespace.trim(), form.cluster)}?tab=submissions&submission=${encodeURIComponent(made.submissionId)}`);
      }
    } catch (err) {
      setError(err);
      setBusy(false);
    }
  };
  const toYAML = () => {
    keepDraft(job());
    navigate(`/ui/create?kind=jobs&namespace=${encodeURIComponent(form.namespace.trim())}`);
  };
  // A field is a label, an input with more of its properties in props, and a hint, which describes it and is not part of its name.
  const field = (name, label, hint, {tag = 'input', ...props} = {}, more = null) => html`<div class="field" key=${name}><label for=${'submit-' + name}>${label}</label>
    <${tag} id=${'submit-' + name} class=${cls('input', tag === 'textarea' && 'mono')} value=${form[name]} onInput=${set(name)} autocomplete="off" autocapitalize="off" spellcheck=${false}
      aria-describedby=${hint ? `submit-${name}-hint` : undefined} ...${props} />${more}
    ${hint && html`<small class="muted" id=${`submit-${name}-hint`}>${hint}</small>`}</div>`;
  const offered = [{list: 'submit-queues'}, html`<datalist id="submit-queues">${queues.map((n) => html`<option key=${n} value=${n} />`)}</datalist>`];
  const choice = (id, label, text) => html`<label class=${cls('choice', to === id && 'chosen')}><input type="radio" name="to" checked=${to === id} onChange=${() => { setTo(id); setError(null); }}
      aria-labelledby=${`submit-to-${id}`} aria-describedby=${`submit-to-${id}-hint`} />
    <span><strong id=${`submit-to-${id}`}>${label}</strong><br /><small class="muted" id=${`submit-to-${id}-hint`}>${text}</small></span></label>`;
  return html`<main class="page" id="main">
    <header class="page-head"><h1>Submit a job</h1></header>
    <form class="form" onSubmit=${submit}>
      <fieldset class="choices"><legend>Where it runs</legend>
        ${choice('own', 'On a cluster of its own', 'A RayJob: the cluster is made for it, and deleted ten minutes after its end.')}
        ${choice('cluster', 'On a cluster that runs', 'Ray’s own job, at once. It is gone with the cluster.')}
      </fieldset>
      <div class="fields">
        ${field('namespace', 'Namespace', '', {required: true})}
        ${to === 'cluster' && field('cluster', 'Cluster', clusters.error ? clusters.error.message : `${clusters.items.length} ready in ${namespace}`, {list: 'submit-clusters', required: true},
          html`<datalist id="submit-clusters">${clusters.items.map((n) => html`<option key=${n} value=${n} />`)}</datalist>`)}
        ${field('name', to === 'own' ? 'Name' : 'Submission ID', 'may be left empty')}
      </div>
      ${field('entrypoint', 'Entrypoint', entrypointHint[to], {tag: 'textarea', rows: 3, required: true, placeholder: 'python -c "import ray; ray.init(); print(ray.cluster_resources())"'})}
      ${field('runtimeEnv', 'Runtime environment', 'YAML or JSON; may be left empty', {tag: 'textarea', rows: 4, placeholder: 'pip: [requests]\nenv_vars:\n  NAME: value'})}
      <${Files} picked=${picked} onPick=${(files) => { requestID.current = ''; setPicked(files); }} />
      ${to === 'own' && profiles.length > 0 && html`<div class="fields">
        <div class="field"><label for="submit-profile">Profile</label>
          <select id="submit-profile" class="input" value=${profile?.name ?? ''} onChange=${set('profile')} aria-describedby="submit-profile-hint">
            <option value="">none</option>${profiles.map((p) => html`<option key=${p.name} value=${p.name}>${p.name}</option>`)}
          </select><small class="muted" id="submit-profile-hint">${profile?.description || 'image, resources and queue of the platform team'}</small></div>
        ${profile && field('replicas', 'Workers', 'of its group workers; as the profile has it when left empty', {type: 'number', min: 1, max: 10000})}
      </div>`}
      ${to === 'own' && !profile && html`<div class="fields">
        ${field('version', 'Ray version', '', {required: true})}
        ${field('image', 'Image', `rayproject/ray:${form.version} when left empty`)}
        ${numbers.map(([name, label, hint]) => field(name, label, hint, name === 'workers' ? {type: 'number', min: 0, max: 10000, required: true} : {required: true}))}
      </div>`}
      ${to === 'own' && html`<div class="fields">${placing.map(([name, label, hint]) => field(name, label, `${hint}; may be left empty`, ...(name === 'queue' ? offered : [])))}</div>`}
      ${mayNot && html`<${Warnings} warnings=${[`You may not ${to === 'own' ? 'create rayjobs' : 'submit to clusters (create services/proxy)'} in namespace ${namespace}.`]} />`}
      <${ErrorBox} error=${error} title="It was not submitted." />
      <div class="page-foot">${!mayNot && html`<${Button} type="submit" kind="primary" busy=${busy}>Submit<//>`}
        ${to === 'own' && !picked && html`<${Button} kind="quiet" onClick=${toYAML}>Go on in YAML<//>`}</div>
    </form>
  </main>`;
}
