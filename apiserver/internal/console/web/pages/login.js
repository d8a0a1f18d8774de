// The login page: a Kubernetes token makes a session.
import {Button, ErrorBox, html, useEffect, useID, useRef, useState, useTitle} from '../lib/ui.js';
import {request} from '../lib/api.js';
import {navigate} from '../lib/router.js';

// nextOf is where the login leads: a page of the console, and nowhere else.
export function nextOf(query) {
  const next = query.get('next') ?? '';
  return /^\/ui\/(?!\/|login)/.test(next) ? next : '/ui/clusters';
}

export function Login({route, session, onSession}) {
  const [token, setToken] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const field = useRef(null);
  const id = useID('token');
  useTitle('Log in');
  useEffect(() => field.current?.focus(), []);
  const submit = async (e) => {
    e.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const made = await request('POST', '/ui/session', {body: {token}});
      setToken('');
      onSession(made);
      navigate(nextOf(route.query), {replace: true});
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
      <p class="muted">Ray on Kubernetes. Log in with a Kubernetes token; you see and do what it may.</p>
      ${session.message && !error && html`<div class="warning-box" role="status">Your session has ended: ${session.message}</div>`}
      ${!window.isSecureContext && html`<div class="error-box" role="alert">This page was not loaded by HTTPS. Browsers keep no session then: use HTTPS, or localhost.</div>`}
      <label for=${id}>Token</label>
      <input ref=${field} id=${id} class="input mono" name="token" type="password" autocomplete="off" spellcheck=${false} required value=${token}
        aria-describedby="${id}-help" aria-invalid=${error ? 'true' : undefined} onInput=${(e) => setToken(e.target.value)} />
      <p id="${id}-help" class="hint">For example what <code>kubectl create token NAME</code> prints. It is kept in a cookie that no script can read, and sent to nobody but Kubernetes.</p>
      <${ErrorBox} error=${error} title="Not logged in." />
      <${Button} type="submit" kind="primary" busy=${busy}>Log in<//>
      ${expired && html`<p class="hint">After the login you are back at <code>${nextOf(route.query)}</code>.</p>`}
    </form>
  </main>`;
}
