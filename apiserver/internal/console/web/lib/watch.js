// Live objects: what there is, and then every change, in one stream per page.
import {useEffect, useState} from '../vendor/preact-htm.js';
import {Code, mayPass, pause, recovered, request, stream} from './api.js';

const firstDelay = 1000;
const longestDelay = 30_000;

const keyOf = (object) => `${object.metadata.namespace}/${object.metadata.name}`;

// batched calls run soon, once for many calls: a watch begins with a message for each object.
function batched(run) {
  let timer = 0;
  const now = () => {
    timer = 0;
    run();
  };
  return {
    soon: () => { timer ||= setTimeout(now, 60); },
    now: () => { clearTimeout(timer); now(); },
    cancel: () => clearTimeout(timer),
  };
}

// follow watches objects of a kind and calls publish({objects, synced, live, stale, error}) after changes. objects is a new Map each time, whose values are
// the same as long as they have not changed. It returns a function that ends it.
function follow(kind, namespace, query, publish) {
  const control = new AbortController();
  const state = {objects: new Map(), synced: false, live: false, stale: 0, error: null, fatal: false};
  const publishing = batched(() => publish({...state, objects: new Map(state.objects)}));
  const path = namespace ? `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}:watch` : `/apis/v2/${kind.plural}:watch`;
  const onMessage = (message) => {
    const object = message[kind.message];
    const stale = message.type === 'HEARTBEAT' ? Number(message.staleSeconds ?? 0) : 0;
    if (state.stale > 0 && stale === 0) dispatchEvent(new Event(recovered));
    state.stale = stale;
    switch (message.type) {
      case 'ADDED':
      case 'MODIFIED':
        if (state.fresh) state.fresh.set(keyOf(object), object);
        else state.objects.set(keyOf(object), object);
        break;
      case 'DELETED':
        (state.fresh ?? state.objects).delete(keyOf(object));
        break;
      case 'RESET': // what is shown stays until all that there is has arrived
        state.fresh = new Map();
        break;
      case 'SYNCED':
        if (state.fresh) state.objects = state.fresh;
        delete state.fresh;
        state.synced = true;
        publishing.now();
        return;
      default:
    }
    publishing.soon();
  };
  stream(path, {
    query, signal: control.signal, onMessage,
    onState: ({live, error, refused, anew}) => {
      Object.assign(state, {live, error, fatal: refused});
      if (live && anew && state.synced) state.fresh = new Map();
      else if (live) delete state.fresh; // what was not complete when the connection broke off
      publishing.soon();
    },
  }).catch((error) => {
    Object.assign(state, {live: false, error, fatal: true});
    publishing.now();
  });
  return () => {
    control.abort();
    publishing.cancel();
  };
}

const nothing = {objects: new Map(), synced: false, live: false, stale: 0, error: null, fatal: false};

// useList returns the objects of a kind as they are now: {items, synced, live, stale, error, fatal}. namespace empty means all, undefined means none yet. stale
// is for how many seconds the gateway has had no contact with the API server. What failed is tried again; an error that is fatal is a refusal, after which nothing
// of what there was may be shown.
export function useList(kind, namespace) {
  const [state, setState] = useState(nothing);
  useEffect(() => {
    setState(nothing);
    if (namespace === undefined) return undefined;
    return follow(kind, namespace, {view: 'BASIC'}, setState);
  }, [kind, namespace]);
  return {...state, items: state.objects};
}

// read shows an object once, as soon as that is possible.
async function read(kind, namespace, name, signal, show) {
  for (let delay = firstDelay; !signal.aborted; delay = Math.min(delay * 2, longestDelay)) {
    try {
      const object = await request('GET', `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}`, {signal});
      show({...nothing, object, synced: true, watched: false});
      return;
    } catch (error) {
      const missing = error.code === Code.NOT_FOUND;
      show({...nothing, object: null, error, fatal: !error.away, missing});
      if (!missing && !mayPass(error)) return;
    }
    await pause(delay, signal);
  }
}

// useObject returns one object as it is now: {object, missing, deleted, synced, live, stale, error, fatal, watched}. A deleted object stays as it was last.
// A user who may not watch (watches is false) sees the object as of the opening of the page, and watched is false. While watches is undefined nothing is requested.
export function useObject(kind, namespace, name, watches = true) {
  const [state, setState] = useState({...nothing, object: null});
  useEffect(() => {
    let last = null;
    const control = new AbortController();
    setState({...nothing, object: null});
    const show = (s) => control.signal.aborted || setState(s);
    if (watches === undefined) return undefined;
    if (!watches) {
      read(kind, namespace, name, control.signal, show);
      return () => control.abort();
    }
    const stop = follow(kind, namespace, {filter: `metadata.name = ${JSON.stringify(name)}`}, (s) => {
      const now = s.objects.get(`${namespace}/${name}`) ?? null;
      const seen = last !== null;
      last = now ?? last;
      show({...s, object: last, missing: s.synced && !now && !seen, deleted: s.synced && !now && seen, watched: true});
    });
    return () => {
      control.abort();
      stop();
    };
  }, [kind, namespace, name, watches]);
  return state;
}
