// Asking the server about something that changes while one types. No DOM: its test runs without a browser.

// latest returns a function that waits for a pause in its calls and then does the work of the last one. Work that is under way is aborted by the next call,
// and its result dropped. work gets the arguments and an AbortSignal; done gets (error, result) of what was not overtaken; cancel() ends all.
// clock has setTimeout, clearTimeout and AbortController; the window by default.
export function latest({wait, work, done, clock = globalThis}) {
  let timer = null;
  let abort = null;
  const cancel = () => {
    clock.clearTimeout(timer);
    if (abort) {
      abort.abort();
    }
    abort = null;
  };
  const start = async (args) => {
    const mine = new clock.AbortController();
    abort = mine;
    let error = null;
    let result;
    try {
      result = await work(...args, mine.signal);
    } catch (e) {
      error = e;
    }
    if (abort === mine) {
      abort = null;
      done(error, result);
    }
  };
  const call = (...args) => {
    cancel();
    timer = clock.setTimeout(() => start(args), wait);
  };
  call.cancel = cancel;
  return call;
}
