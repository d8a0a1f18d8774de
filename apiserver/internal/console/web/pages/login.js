// The login page: the login at an identity provider, or a Kubernetes token, makes a session.
import {Button, ErrorBox, html, useEffect, useID, useRef, useState, useTitle} from '../lib/ui.js';
import {Code, pause, request, urlOf} from '../lib/api.js';
import {navigate} from '../lib/router.js';

// nextOf is where the login leads: a page of the console, and nowhere else.
export function nextOf(query) {
  const next = query.get('next') ?? '';
  return /^\/ui\/(?!\/|login)/.test(next) ? next : '/ui/clusters';
}

const firstLook = 2000;
const lastLook = 30_000;

// stillGood waits until Kubernetes takes the token of the session after all, as after a restart of its API server. It gives up after a minute.
async function stillGood(signal) {
  for (let delay = firstLook; delay <= lastLook && !signal.aborted; delay *= 2) {
    await pause(delay, signal);
    try {
      await request('GET', '/ui/api/namespaces', {signal}); // GET /ui/session would end a session that is refused
      return true;
    } catch (err) {
      if (!err.away && err.code !== Code.UNAUTHENTICATED) return !signal.aborted;
    }
  }
  return false;
}

export function Login({route, session, onSession}) {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const field = useRef(null);
  const id = useID('token');
  useTitle('Log in');
  const providers = session.providers ?? [];
  useEffect(() => { if (!providers.length) field.current?.focus(); }, []);
  const back = (made) => {
    onSession(made);
    navigate(nextOf(route.query), {replace: true});
  };
  useEffect(() => {
    if (!session.ended) return undefined;
    const control = new AbortController();
    stillGood(control.signal).then(async (good) => good && back(await request('GET', '/ui/session', {signal: control.signal}))).catch(() => {});
    return () => control.abort();
  }, []);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const made = await request('POST', '/ui/session', {body: {token}});
      setToken('');
      back(made);
    } catch (err) {
      setError(err);
      setBusy(false);
      field.current?.select();
    }
  };
  const expired = route.query.has('next') && !error;
  return html`<main class="login" id="main">
    <form class="card" method="post" action="/ui/session" onSubmit=${submit}>
      <h1><img src="/ui/icon.svg" alt="" width="28" height="28" /> raygate</h1>
      <p class="muted">Ray on Kubernetes. ${providers.length ? 'You see and do what your user may.' : 'Log in with a Kubernetes token; you see and do what it may.'}</p>
      ${session.message && !error && html`<div class="warning-box" role="status">Your session has ended: ${session.message}</div>`}
      ${!window.isSecureContext && html`<div class="error-box" role="alert">This page was not loaded by HTTPS. Browsers keep no session then: use HTTPS, or localhost.</div>`}
      ${providers.map((p) => html`<a key=${p.issuer} class="button primary" href=${urlOf('/oauth2/login', {issuer: p.issuer, next: nextOf(route.query)})}>Log in with ${p.name}</a>`)}
      ${providers.length > 0 && html`<p class="hint">Or enter a token of an identity provider:</p>`}
      <label for=${id}>Token</label>
      <input ref=${field} id=${id} class="input mono" name="token" type="password" autocomplete="off" spellcheck=${false} required value=${token}
        aria-describedby="${id}-help" aria-invalid=${error ? 'true' : undefined} onInput=${(e) => setToken(e.target.value)} />
      <p id="${id}-help" class="hint">${!providers.length && html`For example what <code>kubectl create token NAME</code> prints. `}It is kept in a cookie that no script can read, and
        sent to ${providers.length ? 'this gateway only' : 'nobody but Kubernetes'}.</p>
      <${ErrorBox} error=${error} title="Not logged in." />
      <${Button} type="submit" kind=${providers.length ? '' : 'primary'} busy=${busy}>Log in<//>
      ${expired && html`<p class="hint">After the login you are back at <code>${nextOf(route.query)}</code>.</p>`}
    </form>
  </main>`;
}
