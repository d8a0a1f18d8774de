// Connections of pages that nobody looks at. Browsers open six to a host, for all of its pages together: a page in the background gives its own back, or else
// the seventh page gets no answer.

// hiddenFor is for how long a page must be in the background, in milliseconds.
const hiddenFor = 10_000;

// seen returns when the page is in the foreground, or at the signal.
export const seen = (signal) => new Promise((resolve) => {
  const look = () => {
    if (document.hidden && !signal.aborted) return;
    document.removeEventListener('visibilitychange', look);
    signal.removeEventListener('abort', look);
    resolve();
  };
  document.addEventListener('visibilitychange', look);
  signal.addEventListener('abort', look);
  look();
});

// whileSeen returns a signal that is aborted with the given one, and when the page has been in the background for a while, which hidden() tells. end() is to be
// called at the end.
export function whileSeen(signal) {
  const control = new AbortController();
  const abort = () => control.abort();
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(abort, hiddenFor);
  };
  document.addEventListener('visibilitychange', look);
  signal.addEventListener('abort', abort);
  look();
  return {
    signal: control.signal,
    hidden: () => control.signal.aborted && !signal.aborted,
    end: () => {
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', look);
      signal.removeEventListener('abort', abort);
    },
  };
}
