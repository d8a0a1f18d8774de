// Reads that are repeated when the object has changed.
import {useEffect, useState} from '../vendor/preact-htm.js';
import {useAgain} from './again.js';

// useFetched asks again whenever version changes, a moment later so that a burst of changes is one request, and after errors. It returns {data, error, loading,
// again}.
export function useFetched(ask, version) {
  const [state, setState] = useState({data: null, error: null, loading: true});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    setState((s) => ({...s, loading: true}));
    const timer = setTimeout(() => ask(control.signal).then(
      (data) => control.signal.aborted || setState({data, error: null, loading: false}),
      (error) => control.signal.aborted || setState((s) => ({data: s.data, error, loading: false})),
    ), state.data ? 400 : 0);
    return () => {
      clearTimeout(timer);
      control.abort();
    };
  }, [version, turn]);
  const again = () => setTurn((n) => n + 1);
  useAgain(state.error, again);
  return {...state, again};
}
