// What the caller may do. What is not in it pages leave out; Kubernetes decides on all that is done.
import {useEffect, useState} from '../vendor/preact-htm.js';
import {request} from './api.js';

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

// useRights returns {can, loaded, error}. can(verb, resource, subresource) is false as long as nothing is known.
export function useRights(namespace, {resource = '', name = ''} = {}) {
  const [state, setState] = useState({allowed: {}, loaded: false, error: null});
  useEffect(() => {
    let gone = false;
    setState({allowed: {}, loaded: false, error: null});
    if (namespace === undefined) return undefined;
    fetchRights(namespace, {resource, name}).then(
      (allowed) => gone || setState({allowed, loaded: true, error: null}),
      (error) => gone || setState({allowed: {}, loaded: true, error}),
    );
    return () => { gone = true; };
  }, [namespace, resource, name]);
  const can = (verb, of, subresource) => (state.allowed[subresource ? `${of}/${subresource}` : of] ?? []).includes(verb);
  return {can, loaded: state.loaded, error: state.error};
}
