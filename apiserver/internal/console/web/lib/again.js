// Asking again for what was not answered, so that a page comes back to life by itself.
import {useEffect, useRef} from '../vendor/preact-htm.js';
import {mayPass, recovered} from './api.js';

const firstDelay = 1000;
const longestDelay = 30_000;

// useAgain calls again after an error that may pass: after a while, which grows with each error up to half a minute, and when the gateway or its API server is
// back. again is called until error is null. Errors that stay what they are, such as NOT_FOUND, are left to a button.
export function useAgain(error, again) {
  const latest = useRef(again);
  const delay = useRef(firstDelay);
  latest.current = again;
  useEffect(() => {
    if (!error) delay.current = firstDelay;
    if (!error || !mayPass(error)) return undefined;
    const run = () => latest.current();
    const timer = setTimeout(run, Math.max(delay.current, (error.retryAfter ?? 0) * 1000));
    delay.current = Math.min(delay.current * 2, longestDelay);
    addEventListener(recovered, run);
    return () => {
      clearTimeout(timer);
      removeEventListener(recovered, run);
    };
  }, [error]);
}

// useEvery calls run every half a minute as long as on is true, for what changes without an event, such as a right or a position in a queue.
export function useEvery(on, run) {
  const latest = useRef(run);
  latest.current = run;
  useEffect(() => {
    if (!on) return undefined;
    const timer = setInterval(() => latest.current(), longestDelay);
    return () => clearInterval(timer);
  }, [on]);
}
