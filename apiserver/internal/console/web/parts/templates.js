// Documents to start from. No DOM: its test runs without a browser, and holds each document to the rules.

const rayVersion = '2.60.0';

// quoted writes a text as YAML in one line.
export function quoted(text) {
  return JSON.stringify(text).replace(/\u007f/g, '\\u007f').replace(/\u2028/g, '\\u2028').replace(/\u2029/g, '\\u2029').replace(/\u0085/g, '\\u0085');
}

// indented puts spaces before each line that has something.
function indented(text, spaces) {
  const pad = ' '.repeat(spaces);
  return text.replace(/\r\n?/g, '\n').replace(/\s+$/, '').split('\n').map((line) => (line === '' ? '' : pad + line)).join('\n');
}

function container(name, {image, cpu, memory}, spaces) {
  return indented(`rayStartParams: {}
template:
  spec:
    containers:
    - name: ${name}
      image: ${image}
      resources:
        requests:
          cpu: ${quoted(cpu)}
          memory: ${memory}
        limits:
          memory: ${memory}`, spaces);
}

// clusterSpec is a RayClusterSpec: a head and, unless workers is 0, one group of workers.
function clusterSpec({version = rayVersion, image = '', cpu = '1', memory = '2Gi', workers = 1}, spaces) {
  const pod = {image: image || `rayproject/ray:${version}`, cpu, memory};
  let text = `rayVersion: ${quoted(version)}
headGroupSpec:
${container('ray-head', pod, 2)}`;
  if (workers > 0) {
    text += `
workerGroupSpecs:
- groupName: cpu
  replicas: ${workers}
  minReplicas: ${workers}
  maxReplicas: ${Math.max(5, workers)}
${container('ray-worker', pod, 2)}`;
  }
  return indented(text, spaces);
}

// profileSpec is what a RayClusterSpec has besides its profile: the size of the group workers, if workers is not 0.
function profileSpec(workers, spaces) {
  return indented(workers > 0 ? `workerGroupSpecs:
- groupName: workers
  replicas: ${workers}
  minReplicas: ${workers}
  maxReplicas: ${workers}` : '{}', spaces);
}

function head(kind, name, namespace, labels = []) {
  return `apiVersion: ray.io/v1
kind: ${kind}
metadata:
  ${name ? `name: ${name}` : `generateName: ${kind.toLowerCase()}-`}
  namespace: ${namespace}
${labels.length > 0 ? '  labels:\n' : ''}${labels.map(([key, value]) => `    ${key}: ${quoted(value)}\n`).join('')}spec:
`;
}

// labelsOf reads labels as a person writes them: key=value, with commas in between.
function labelsOf(text) {
  return text.split(',').filter((pair) => pair.trim() !== '').map((pair) => {
    const [key, ...value] = pair.split('=');
    return [quoted(key.trim()), value.join('=').trim()];
  });
}

// jobOf is a RayJob with a cluster of its own, which the gateway completes from a profile if there is one. Without a name Kubernetes makes one.
// In a queue of Kueue it waits for quota.
export function jobOf({name = '', namespace, entrypoint, runtimeEnv = '', ttl = 600, profile = '', queue = '', priorityClass = '', labels = '', ...size}) {
  const known = [['raygate.io/profile', profile], ['kueue.x-k8s.io/queue-name', queue], ['kueue.x-k8s.io/priority-class', priorityClass]];
  let text = head('RayJob', name, namespace, [...known.filter(([, value]) => value !== ''), ...labelsOf(labels)]) + `  entrypoint: ${quoted(entrypoint)}\n`;
  if (runtimeEnv.trim() !== '') {
    text += `  runtimeEnvYAML: |2\n${indented(runtimeEnv, 4)}\n`;
  }
  return text + `  shutdownAfterJobFinishes: true
  ttlSecondsAfterFinished: ${ttl}
  rayClusterSpec:
${profile ? profileSpec(size.workers, 4) : clusterSpec(size, 4)}
`;
}

// submissionOf is a job for a cluster that runs.
export function submissionOf({id = '', entrypoint, runtimeEnv = ''}) {
  let text = `entrypoint: ${quoted(entrypoint)}\n`;
  if (id) {
    text = `submissionId: ${quoted(id)}\n` + text;
  }
  if (runtimeEnv.trim() !== '') {
    text += `runtimeEnv:\n${indented(runtimeEnv, 2)}\n`;
  }
  return text;
}

// templates are by kind: {name, text(namespace)}, the simplest first.
export const templates = {
  RayCluster: [
    {name: 'A head and one worker', text: (ns) => head('RayCluster', 'demo', ns) + clusterSpec({}, 2) + '\n'},
    {name: 'With the autoscaler', text: (ns) => head('RayCluster', 'demo', ns) + '  enableInTreeAutoscaling: true\n' + clusterSpec({}, 2) + '\n'},
  ],
  RayJob: [
    {name: 'A job with a cluster of its own', text: (ns) => jobOf({name: 'demo', namespace: ns, entrypoint: 'python -c "import ray; ray.init(); print(ray.cluster_resources())"'})},
    {name: 'A job on a cluster that runs', text: (ns) => head('RayJob', 'demo', ns) + `  entrypoint: python -c "import ray; ray.init(); print(ray.cluster_resources())"
  clusterSelector:
    ray.io/cluster: NAME
`},
  ],
  RayService: [
    {name: 'One application', text: (ns) => head('RayService', 'demo', ns) + serveConfig + '  rayClusterConfig:\n' + clusterSpec({}, 4) + '\n'},
    {name: 'Upgraded step by step', text: (ns) => head('RayService', 'demo', ns) + `  upgradeStrategy:
    type: NewClusterWithIncrementalUpgrade
    clusterUpgradeOptions:
      gatewayClassName: NAME
      maxSurgePercent: 40
      stepSizePercent: 10
      intervalSeconds: 30
` + serveConfig + `  rayClusterConfig:
    enableInTreeAutoscaling: true
` + clusterSpec({}, 4) + '\n'},
  ],
  RayCronJob: [
    {name: 'Every night at two', text: (ns) => head('RayCronJob', 'demo', ns) + `  schedule: "0 2 * * *"
  timeZone: Etc/UTC
  jobTemplate:
    entrypoint: python -c "import ray; ray.init(); print(ray.cluster_resources())"
    shutdownAfterJobFinishes: true
    rayClusterSpec:
` + clusterSpec({}, 6) + '\n'},
  ],
};

const serveConfig = `  serveConfigV2: |
    applications:
    - name: hello
      import_path: hello:app
      route_prefix: /
`;

const unquote = (text) => {
  const value = text.replace(/\s+#.*$/, '').trim();
  const found = /^"(.*)"$|^'(.*)'$/.exec(value);
  return found ? found[1] ?? found[2] : value;
};

// headerOf reads what a text says of itself, as far as one can without reading all of YAML: enough to know where to send it. The server reads it whole.
export function headerOf(text) {
  const header = {kind: '', namespace: '', name: ''};
  const trimmed = text.trimStart();
  if (trimmed.startsWith('{')) {
    return headerOfJSON(trimmed, header);
  }
  let inside = '';
  let depth = -1;
  for (const line of text.split('\n')) {
    const found = /^(\s*)([\w-]+|"[\w-]+"|'[\w-]+')\s*:(?:\s+(.*))?$/.exec(line.replace(/\r$/, ''));
    if (!found) {
      continue;
    }
    const [, spaces, rawKey, value = ''] = found;
    const key = unquote(rawKey);
    if (spaces === '') {
      inside = key;
      depth = -1;
      if (key === 'kind') {
        header.kind = unquote(value);
      }
    } else if (inside === 'metadata') {
      depth = depth < 0 ? spaces.length : depth;
      if (spaces.length === depth && (key === 'namespace' || key === 'name')) {
        header[key] = unquote(value);
      }
    }
  }
  return header;
}

function headerOfJSON(text, header) {
  try {
    const object = JSON.parse(text);
    const meta = object.metadata || {};
    return {kind: String(object.kind || ''), namespace: String(meta.namespace || ''), name: String(meta.name || '')};
  } catch {
    return header; // of one that is being typed
  }
}

// withoutStatus leaves out of an object's YAML what nobody edits.
export function withoutStatus(text) {
  const lines = text.split('\n');
  const kept = [];
  let skip = false;
  for (const line of lines) {
    if (/^\S/.test(line)) {
      skip = /^status:/.test(line);
    }
    if (!skip) {
      kept.push(line);
    }
  }
  return kept.join('\n').replace(/\n*$/, '\n');
}

// withVersion puts the resourceVersion of an object into the YAML of an edited one.
export function withVersion(text, version) {
  if (versionOf(text) === '') {
    return text.replace(/^metadata:[ \t]*$/m, (line) => `${line}\n  resourceVersion: ${quoted(version)}`);
  }
  return text.replace(/^([ \t]+resourceVersion:[ \t]*).*$/m, (_, before) => before + quoted(version));
}

// versionOf is the resourceVersion in the YAML of an object, as the server writes it; empty when it has none.
export function versionOf(text) {
  const found = /^[ \t]+resourceVersion:[ \t]*(.*)$/m.exec(text);
  return found ? unquote(found[1]) : '';
}

// withoutVersion leaves out what the server has set, of an object that is to be made anew or compared.
export function withoutVersion(text) {
  const own = /^\s\s(?:resourceVersion|uid|generation|creationTimestamp|deletionTimestamp):/;
  let inside = '';
  return text.split('\n').filter((line) => {
    inside = /^[\w-]+:/.test(line) ? line : inside;
    return !(inside.startsWith('metadata:') && own.test(line));
  }).join('\n');
}
