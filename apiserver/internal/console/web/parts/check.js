// Whether a text would be taken by the server, asked while one types.
import {useEffect, useRef, useState} from '../lib/ui.js';
import {useAgain} from '../lib/again.js';
import {Code, request} from '../lib/api.js';
import {latest} from './latest.js';
import {fieldsOf, located, mayPass, problemsOf, warningOf} from './problems.js';

// pauseInTyping is how long one must not type until the server is asked, in milliseconds.
const pauseInTyping = 350;
const firstRetry = 2000;
const lastRetry = 30000;

// withLines asks the server for the lines of problems. Problems without lines are better than none.
export async function withLines(problems, text, signal) {
  const fields = fieldsOf(problems);
  if (fields.length === 0) {
    return located(problems, {});
  }
  const query = fields.slice(0, 50).map((f) => 'field=' + encodeURIComponent(f)).join('&');
  try {
    const answer = await request('POST', '/ui/api/locate?' + query, {body: text, contentType: 'application/yaml', signal});
    return located(problems, answer.positions);
  } catch (error) {
    if (signal && signal.aborted) {
      throw error;
    }
    return located(problems, {});
  }
}

async function check(text, method, path, signal) {
  let problems = [];
  try {
    await request(method, path, {
      query: {validateOnly: true}, body: text, contentType: 'application/yaml', signal,
      onWarnings: (warnings) => { problems = warnings.map(warningOf); },
    });
  } catch (error) {
    problems = problemsOf(error, Code);
    if (problems === null) {
      throw error;
    }
  }
  return withLines(problems, text, signal);
}

// useCheck returns {state, problems, error, again} of a text: state is idle (nothing to check), checking, done, away (asked again by itself) or refused (error says why; again() asks again).
// problems are those of the last text that was checked until there are new ones.
export function useCheck({text, method, path}) {
  const [result, setResult] = useState({state: 'idle', problems: [], error: null});
  const ask = useRef(null);
  const retry = useRef({timer: 0, wait: firstRetry});
  if (ask.current === null) {
    ask.current = latest({
      wait: pauseInTyping,
      work: check,
      done: (error, problems) => {
        if (!error) {
          retry.current.wait = firstRetry;
          setResult({state: 'done', problems, error: null});
          return;
        }
        if (!mayPass(error, Code)) {
          setResult({state: 'refused', problems: [], error});
          return;
        }
        setResult({state: 'away', problems: [], error}); // those of an older text would stand at the wrong lines
        const wait = Math.max(retry.current.wait, (error.retryAfter || 0) * 1000);
        retry.current.wait = Math.min(wait * 2, lastRetry);
        retry.current.timer = setTimeout(() => retry.current.again(), wait);
      },
    });
  }
  useEffect(() => {
    clearTimeout(retry.current.timer);
    if (!path || text.trim() === '') {
      ask.current.cancel();
      setResult({state: 'idle', problems: [], error: null});
      return;
    }
    retry.current.again = () => ask.current(text, method, path);
    retry.current.again();
    setResult((before) => ({...before, state: 'checking'}));
  }, [text, method, path]);
  useEffect(() => () => {
    clearTimeout(retry.current.timer);
    ask.current.cancel();
  }, []);
  useAgain(result.state === 'refused' && result.error.code === Code.PERMISSION_DENIED ? result.error : null, () => retry.current.again());
  return {...result, again: () => retry.current.again()};
}
