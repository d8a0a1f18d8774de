// Calls of the gateway's REST API with the session of the browser.
import {navigate} from './router.js';
import {seen, whileSeen} from './seen.js';

// ApiError is a google.rpc.Status in the form that pages show. violations have {field, description, reason}.
export class ApiError extends Error {
  constructor({code = 2, status = 0, reason = '', message = '', violations = [], warnings = [], retryAfter = 0, requestID = ''}) {
    super(message || `HTTP ${status}`);
    Object.assign(this, {name: 'ApiError', code, status, reason, violations, warnings, retryAfter, requestID});
  }

  // away says that nobody answers, or that the one who answers cannot reach somebody else: trying again may help.
  get away() {
    return this.status === 0 || this.code === 14 || this.code === 4;
  }
}

const codes = {OK: 0, CANCELLED: 1, UNKNOWN: 2, INVALID_ARGUMENT: 3, DEADLINE_EXCEEDED: 4, NOT_FOUND: 5, ALREADY_EXISTS: 6, PERMISSION_DENIED: 7, RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9, ABORTED: 10, UNIMPLEMENTED: 12, INTERNAL: 13, UNAVAILABLE: 14, UNAUTHENTICATED: 16};

// Codes of google.rpc.Code by name.
export const Code = Object.freeze(codes);

const ofType = (status, name) => (status.details ?? []).find((d) => d['@type']?.endsWith('/google.rpc.' + name)) ?? {};

// statusError makes an ApiError of a google.rpc.Status.
export function statusError(status, http = 0, warnings = []) {
  const info = ofType(status, 'ErrorInfo');
  return new ApiError({
    code: status.code, status: http || 200, message: status.message, reason: info.reason, warnings,
    violations: ofType(status, 'BadRequest').fieldViolations ?? [],
    retryAfter: Number.parseFloat(ofType(status, 'RetryInfo').retryDelay ?? '0') || 0,
    requestID: ofType(status, 'RequestInfo').requestId ?? '',
  });
}

// sessionEnded is the event that a call found nobody to be logged in.
export const sessionEnded = 'raygate-session-ended';

// recovered is the event that the gateway, or the API server behind it, answers again.
export const recovered = 'raygate-recovered';

// toLogin leads to the login page, and back after the login.
function toLogin() {
  if (!location.pathname.startsWith('/ui/login')) {
    dispatchEvent(new Event(sessionEnded));
    navigate('/ui/login?next=' + encodeURIComponent(location.pathname + location.search), {replace: true});
  }
}

const textOf = (value) => (value === undefined || value === null || value === '' ? [] : [String(value)]);

// urlOf appends the query, an object, to a path. Empty values are left out.
export function urlOf(path, query = {}) {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) textOf(value).forEach((text) => params.append(name, text));
  const text = params.toString();
  return text ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path;
}

// warningsOf reads the texts of Warning headers, 299 - "text".
function warningsOf(headers) {
  const all = headers.get('Warning') ?? '';
  return [...all.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map((m) => m[1].replace(/\\(.)/g, '$1'));
}

async function send(method, path, {query, body, signal, accept = 'application/json', contentType} = {}) {
  const headers = {Accept: accept};
  if (body !== undefined) headers['Content-Type'] = contentType ?? (typeof body === 'string' ? 'application/yaml' : 'application/json');
  let response;
  try {
    response = await fetch(urlOf(path, query), {
      method, headers, signal, credentials: 'same-origin', cache: 'no-store',
      body: body === undefined || typeof body === 'string' || body instanceof Blob ? body : JSON.stringify(body),
    });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new ApiError({code: Code.UNAVAILABLE, reason: 'GATEWAY_AWAY', message: 'The gateway does not answer.'});
  }
  if (response.ok) return response;
  let status = {};
  try {
    status = await response.json();
  } catch {
    // An answer of something before the gateway; its HTTP status is all there is to say.
  }
  const away = response.status === 502 || response.status === 503 || response.status === 504;
  const err = status.code === undefined
    ? new ApiError({code: away ? Code.UNAVAILABLE : Code.UNKNOWN, status: response.status, message: `The answer is HTTP ${response.status} ${response.statusText}.`})
    : statusError(status, response.status, warningsOf(response.headers));
  if (response.status === 401) toLogin();
  throw err;
}

// request calls the API and returns the JSON of the answer, or its text when it is none. A string as body is YAML, all else JSON. onWarnings gets the
// warnings of a call that succeeds. A Blob is sent as it is.
export async function request(method, path, options = {}) {
  const response = await send(method, path, options);
  const warnings = warningsOf(response.headers);
  if (warnings.length && options.onWarnings) options.onWarnings(warnings);
  if (response.status === 204) return null;
  try {
    return await (response.headers.get('Content-Type')?.includes('json') ? response.json() : response.text());
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new ApiError({code: Code.UNAVAILABLE, message: 'The answer broke off before its end.'});
  }
}

// requestPages reads a list to its end: it joins field, the items, of all pages. All else is that of the last page.
export async function requestPages(path, field, {query = {}, signal} = {}) {
  const items = [];
  for (let pageToken = ''; ;) {
    const page = await request('GET', path, {query: {...query, pageToken}, signal});
    items.push(...(page[field] ?? []));
    pageToken = page.nextPageToken ?? '';
    if (!pageToken) return {...page, [field]: items};
  }
}

// pause waits for some milliseconds, or until the signal.
export const pause = (ms, signal) => new Promise((resolve) => {
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener('abort', () => { clearTimeout(timer); resolve(); }, {once: true});
});

// A watch says every 20 s that it lives; a connection that is silent for much longer is none.
const silence = 50_000;
const firstDelay = 500;
const longestDelay = 30_000;

// lines calls onLine for every line of a response until its end.
async function lines(response, signal, onLine) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let timer;
  const alive = () => {
    clearTimeout(timer);
    timer = setTimeout(() => reader.cancel().catch(() => {}), silence);
  };
  const end = () => reader.cancel().catch(() => {});
  signal.addEventListener('abort', end, {once: true});
  try {
    for (alive(); ;) {
      const {value, done} = await reader.read();
      if (done) return;
      alive();
      const parts = (rest + value).split('\n');
      rest = parts.pop();
      for (const line of parts) if (line.trim()) onLine(line);
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    end(); // else a connection that nobody reads stays open, and browsers have few
  }
}

// stream reads a watch: newline-delimited JSON. It goes on behind the last resumeToken after a break, with back-off, until the signal. onState gets {live, error,
// refused, anew}: whether messages arrive, why not, whether the error is a refusal, and whether all there is follows. A refusal is asked for again, too: an API server
// that has just started knows of no rights yet. What is thrown is that nobody is logged in. A page in the background reads nothing.
export async function stream(path, {query = {}, signal, onMessage, onState = () => {}}) {
  let token = query.resumeToken;
  let delay = firstDelay;
  let failed = false;
  while (!signal.aborted) {
    let failure = null;
    await seen(signal);
    const connection = whileSeen(signal);
    try {
      const response = await send('GET', path, {query: {...query, resumeToken: token}, signal: connection.signal});
      onState({live: true, error: null, refused: false, anew: !token});
      if (failed) dispatchEvent(new Event(recovered));
      failed = false;
      await lines(response, connection.signal, (line) => {
        const message = JSON.parse(line);
        if (message.error) throw statusError(message.error);
        token = message.resumeToken || token;
        delay = firstDelay;
        onMessage(message);
      });
    } catch (err) {
      if (signal.aborted) return;
      if (connection.hidden()) continue;
      failure = err instanceof ApiError ? err : new ApiError({code: Code.UNAVAILABLE, message: 'The connection to the gateway broke off.'});
      if (failure.code === Code.UNAUTHENTICATED) {
        toLogin();
        throw failure;
      }
      if (failure.code === Code.INVALID_ARGUMENT) token = undefined;
    } finally {
      connection.end();
    }
    if (signal.aborted) return;
    if (connection.hidden()) continue;
    failed = true;
    onState({live: false, error: failure, refused: failure !== null && !passing.has(failure.code), anew: false});
    const wait = Math.max(delay, (failure?.retryAfter ?? 0) * 1000);
    await pause(wait * (0.75 + Math.random() / 2), signal);
    delay = Math.min(delay * 2, longestDelay);
  }
}

const passing = new Set([Code.UNKNOWN, Code.CANCELLED, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED, Code.ABORTED, Code.INTERNAL, Code.UNAVAILABLE]);

// mayPass tells whether the same question may be answered later.
export const mayPass = (err) => passing.has(err.code) || err.code === Code.PERMISSION_DENIED || err.code === Code.UNIMPLEMENTED;

// textStream reads a text such as a log as it grows: onText gets what has arrived. It returns at the end of the text, and throws when that is not reached.
export async function textStream(path, {query, signal, onText}) {
  const response = await send('GET', path, {query, signal, accept: 'text/plain, application/json'});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      onText(value);
    }
  } catch (err) {
    if (signal?.aborted) return;
    throw new ApiError({code: Code.UNAVAILABLE, message: 'The text broke off before its end.'});
  } finally {
    reader.cancel().catch(() => {});
  }
}
