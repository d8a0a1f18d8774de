// The actions that the permissions of the user and the state of an object allow. No DOM: its test runs without a browser.

const suspended = (o) => Boolean(o.spec && o.spec.suspend);
const deleted = (o) => Boolean(o.metadata && o.metadata.deletionTimestamp);
const finished = (o) => ['Complete', 'Failed', 'ValidationFailed'].includes((o.status || {}).jobDeploymentStatus);
const headReady = (o) => ((o.status || {}).conditions || []).some((c) => c.type === 'HeadPodReady' && c.status === 'True');
const expires = (o) => ((o.status || {}).conditions || []).some((c) => c.type === 'Idle' || c.type === 'Expired');
const started = (o) => (o.status || {}).jobDeploymentStatus === 'Running';

// groupsOf returns the worker groups of an object that has its own: {name, replicas, min, max, suspend}.
export function groupsOf(object) {
  const spec = object.spec || {};
  const groups = spec.workerGroupSpecs || (spec.rayClusterConfig || {}).workerGroupSpecs || [];
  return groups.map((g) => ({
    name: g.groupName, replicas: g.replicas ?? g.minReplicas ?? 0, min: g.minReplicas ?? 0, max: g.maxReplicas ?? 2147483647, suspended: Boolean(g.suspend),
  }));
}

// The actions: whether an object of a kind has them in its present state, and the right that they need ([verb, resource, subresource]). A kind is named by
// its plural in paths of the API.
const actions = {
  scale: {
    kinds: ['clusters', 'services'], label: 'Scale', needs: (resource) => ['patch', resource], when: (o) => groupsOf(o).length > 0,
  },
  suspend: {
    kinds: ['clusters', 'jobs', 'services', 'cronjobs'], label: 'Suspend', needs: (resource) => ['patch', resource], when: (o) => !suspended(o) && !finished(o),
  },
  resume: {
    kinds: ['clusters', 'jobs', 'services', 'cronjobs'], label: 'Resume', needs: (resource) => ['patch', resource], when: (o) => suspended(o),
  },
  keep: {
    kinds: ['clusters'], label: 'Keep for 2 h', needs: (resource) => ['patch', resource], when: (o) => !suspended(o) && expires(o),
  },
  stop: {
    kinds: ['jobs'], label: 'Stop', needs: () => ['create', 'services', 'proxy'], when: started,
  },
  trigger: {
    kinds: ['cronjobs'], label: 'Run now', needs: () => ['create', 'rayjobs'], when: () => true,
  },
  submit: {
    kinds: ['clusters'], label: 'Submit a job', needs: () => ['create', 'services', 'proxy'], when: (o) => !suspended(o),
  },
  dashboard: {
    kinds: ['clusters'], label: 'Dashboard', needs: () => ['get', 'services', 'proxy'], when: (o) => !suspended(o) && headReady(o),
  },
  delete: {
    kinds: ['clusters', 'jobs', 'services', 'cronjobs'], label: 'Delete', needs: (resource) => ['delete', resource], when: () => true,
  },
};

// actionsOf returns the names and labels of what may be done with an object. can(verb, resource, subresource) knows the rights.
export function actionsOf(plural, resource, object, can) {
  if (!object || deleted(object)) {
    return [];
  }
  return Object.keys(actions)
    .filter((name) => actions[name].kinds.includes(plural) && actions[name].when(object) && can(...actions[name].needs(resource)))
    .map((name) => ({name, label: actions[name].label}));
}

// consequenceOf says what an action does, before one confirms it.
export function consequenceOf(action, plural, object) {
  const name = object.metadata.name;
  switch (action) {
    case 'suspend':
      return {
        clusters: `All Pods of RayCluster ${name} are deleted, and what runs on them ends. The object stays.`,
        jobs: `The cluster of RayJob ${name} is deleted, and its Ray job ends. It begins anew when it is resumed.`,
        services: `All that was made for RayService ${name} is deleted: it serves no more requests. The object stays.`,
        cronjobs: `RayCronJob ${name} makes no more jobs until it is resumed. Those that run go on.`,
      }[plural];
    case 'stop':
      return `Ray is asked to stop the job of RayJob ${name}. The object and its log stay.`;
    case 'delete':
      return {
        clusters: `RayCluster ${name} is deleted with all its Pods, and what runs on them ends.`,
        jobs: `RayJob ${name} is deleted with the cluster that was made for it, and its log with it.`,
        services: `RayService ${name} is deleted with its clusters: it serves no more requests.`,
        cronjobs: `RayCronJob ${name} is deleted with the jobs that it has made.`,
      }[plural];
    default:
      return '';
  }
}

// isSize tells whether a number can be one of replicas.
export const isSize = (n) => Number.isInteger(n) && n >= 0 && n <= 2147483647;

// sizeProblem says why the numbers of a group cannot be sent; empty if they can. Whether they fit each other the server decides.
export function sizeProblem(numbers) {
  for (const [field, name] of [['replicas', 'Replicas'], ['min', 'Minimum'], ['max', 'Maximum']]) {
    if (!isSize(numbers[field])) {
      return `${name} must be a whole number of at least 0.`;
    }
  }
  return '';
}
