// Live objects: what there is, and then every change, in one stream per page.
import {useEffect, useState} from '../vendor/preact-htm.js';
import {Code, request, stream} from './api.js';

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
  const state = {objects: new Map(), synced: false, live: false, stale: 0, error: null, reset: false};
  const publishing = batched(() => publish({...state, objects: new Map(state.objects)}));
  const path = namespace ? `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}:watch` : `/apis/v2/${kind.plural}:watch`;
  const onMessage = (message) => {
    const object = message[kind.message];
    state.stale = 0;
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
        state.stale = Number(message.staleSeconds ?? 0);
    }
    publishing.soon();
  };
  stream(path, {
    query, signal: control.signal, onMessage,
    onState: ({live, error}) => {
      state.live = live;
      state.error = error;
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
// is for how many seconds the gateway has had no contact with the API server; an error that is fatal ends the list, any other is tried again.
export function useList(kind, namespace) {
  const [state, setState] = useState(nothing);
  useEffect(() => {
    setState(nothing);
    if (namespace === undefined) return undefined;
    return follow(kind, namespace, {view: 'BASIC'}, setState);
  }, [kind, namespace]);
  return {...state, items: state.objects};
}

// useObject returns one object as it is now: {object, missing, deleted, synced, live, stale, error, fatal, watched}. A deleted object stays as it was last.
// Who may not watch (watches is false) sees the object as it is when the page opens, and watched is false; as long as watches is undefined nothing is asked.
export function useObject(kind, namespace, name, watches = true) {
  const [state, setState] = useState({...nothing, object: null});
  useEffect(() => {
    let last = null;
    const control = new AbortController();
    setState({...nothing, object: null});
    const show = (s) => control.signal.aborted || setState(s);
    if (watches === undefined) return undefined;
    if (!watches) {
      request('GET', `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}`, {signal: control.signal}).then(
        (object) => show({...nothing, object, synced: true, watched: false}),
        (error) => show({...nothing, object: null, error, fatal: true, missing: error.code === Code.NOT_FOUND}),
      );
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
