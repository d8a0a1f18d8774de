// The permissions of the user. Pages hide other actions; Kubernetes authorizes each request.
import {useEffect, useReducer, useState} from '../vendor/preact-htm.js';
import {useAgain} from './again.js';
import {recovered, request} from './api.js';

const kept = new Map(); // query -> {at, promise}
const keptFor = 10_000; // as long as the gateway keeps an answer itself

// fetchRights asks for the rights in a namespace, empty for all; with resource and name also for those that a role grants for that name alone.
export function fetchRights(namespace, {resource = '', name = ''} = {}) {
  const query = {namespace, resource, name};
  const key = JSON.stringify(query);
  const known = kept.get(key);
  if (known && Date.now() - known.at < keptFor) return known.promise;
  const promise = request('GET', '/ui/api/rights', {query}).then((answer) => answer.allowed);
  promise.catch(() => kept.delete(key));
  kept.set(key, {at: Date.now(), promise});
  return promise;
}

// forgetRights is for another user.
export const forgetRights = () => kept.clear();

// useRights returns {can, loaded, error, again}. can(verb, resource, subresource) is false as long as nothing is known. What failed is asked for again, and all when
// the gateway or the API server was away: rights may have changed meanwhile.
export function useRights(namespace, {resource = '', name = ''} = {}) {
  const key = JSON.stringify([namespace, resource, name]);
  const [state, setState] = useState({key, allowed: {}, loaded: false, error: null});
  const [turn, again] = useReducer((n) => n + 1, 0);
  useEffect(() => {
    let gone = false;
    setState((s) => (s.key === key ? s : {key, allowed: {}, loaded: false, error: null})); // asked again, what is known stays
    if (namespace === undefined) return undefined;
    fetchRights(namespace, {resource, name}).then(
      (allowed) => gone || setState({key, allowed, loaded: true, error: null}),
      (error) => gone || setState((s) => ({...s, loaded: true, error})),
    );
    return () => { gone = true; };
  }, [key, turn]);
  useAgain(state.error, again);
  useEffect(() => {
    const renew = () => {
      forgetRights();
      again();
    };
    addEventListener(recovered, renew);
    return () => removeEventListener(recovered, renew);
  }, []);
  const can = (verb, of, subresource) => (state.allowed[subresource ? `${of}/${subresource}` : of] ?? []).includes(verb);
  return {can, loaded: state.loaded, error: state.error, again};
}
