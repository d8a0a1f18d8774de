// The console: finds out who is there, and shows the page that the path names.
import {Button, Dialog, Empty, ErrorBox, html, render, Spinner, Toasts, useEffect, useErrorBoundary, useKeys, useRef, useState, useTitle} from './lib/ui.js';
import {useAgain} from './lib/again.js';
import {request, sessionEnded} from './lib/api.js';
import {useFetched} from './lib/fetched.js';
import {kindOf, kinds} from './lib/kinds.js';
import {forgetRights, useRights} from './lib/rights.js';
import {Link, listPath, navigate, setQuery, useRoute} from './lib/router.js';
import {Login} from './pages/login.js';
import {List} from './pages/list.js';
import {ObjectPage} from './pages/object.js';
import {RecordPage} from './pages/record.js';
import {pages} from './parts/registry.js';

// pageOf returns the page of a path.
function pageOf(route, session) {
  const [first, second, third, fourth, fifth] = route.segments;
  if (route.segments.length === 1 && kindOf(first)) return html`<${List} key=${first} kind=${kindOf(first)} route=${route} />`;
  if (first === 'namespaces' && kindOf(third) && fourth) {
    const place = {kind: kindOf(third), namespace: second, name: fourth, route, session};
    if (route.segments.length === 4) return html`<${ObjectPage} key=${route.path} ...${place} />`;
    if (fifth === 'edit' && pages.edit) return html`<${pages.edit} key=${route.path} ...${place} />`;
    if (fifth === 'past' && place.kind.results) return html`<${RecordPage} key=${route.path} ...${place} />`;
  }
  if (first !== 'edit' && route.segments.length === 1 && Object.hasOwn(pages, first)) return html`<${pages[first]} key=${first} route=${route} />`;
  return html`<${NotFound} path=${route.path} />`;
}

function NotFound({path}) {
  useTitle('Not found');
  return html`<main id="main" class="page"><${Empty} level=${1} title="There is no such page"><p><code>${path}</code></p><p><${Link} class="button" to="/ui/clusters">To the clusters<//></p><//></main>`;
}

function App() {
  const route = useRoute();
  const [session, setSession] = useState(null);
  const [error, setError] = useState(null);
  const load = () => request('GET', '/ui/session').then((s) => {
    setError(null);
    setSession(s);
  }, setError);
  useAgain(error, load);
  useEffect(() => {
    const ended = () => {
      forgetRights();
      setSession((s) => s && {...s, authenticated: !s.login && s.authenticated, ended: true, message: 'log in again.'});
    };
    addEventListener(sessionEnded, ended);
    load();
    return () => removeEventListener(sessionEnded, ended);
  }, []);
  const atLogin = route.segments[0] === 'login';
  useEffect(() => {
    if (!session) return;
    if (session.login && !session.authenticated && !atLogin) navigate('/ui/login?next=' + encodeURIComponent(route.path + location.search), {replace: true});
    else if (route.segments.length === 0 || atLogin && (session.authenticated || !session.login)) navigate('/ui/clusters', {replace: true});
  }, [session, route.path]);
  useFocusOfPage(route.path);
  if (error) return html`<main id="main" class="login"><div class="card"><h1>raygate</h1><${ErrorBox} error=${error} onRetry=${load} /></div></main>`;
  if (!session) return html`<main id="main" class="login"><${Spinner} /></main>`;
  if (atLogin) {
    return html`<${Login} route=${route} session=${session} onSession=${(s) => { forgetRights(); setSession(s); }} />`;
  }
  if (!session.authenticated) {
    return session.login ? null : html`<main id="main" class="login"><div class="card"><h1>raygate</h1>
      <div class="error-box" role="alert">This gateway does not know who you are. ${session.message}</div></div></main>`;
  }
  return html`<${Frame} route=${route} session=${session} onLogout=${() => { forgetRights(); load(); }} />`;
}

// useFocusOfPage puts the focus, and with it screen readers, at the beginning of a page that has been navigated to.
function useFocusOfPage(path) {
  const first = useRef(true);
  useEffect(() => {
    if (!first.current && !document.querySelector('#main input[autofocus], dialog[open]')) {
      const title = document.querySelector('#main h1');
      title?.setAttribute('tabindex', '-1');
      title?.focus({preventScroll: true});
      scrollTo(0, 0);
    }
    first.current = false;
  }, [path]);
}

function Frame({route, session, onLogout}) {
  const [help, setHelp] = useState(false);
  const inObject = route.segments[0] === 'namespaces';
  const inPast = inObject && route.segments[4] === 'past';
  const plural = inPast ? 'past' : route.segments[inObject ? 2 : 0];
  const listed = ['past', 'usage'].includes(plural) || Boolean(kindOf(plural));
  const namespace = inObject ? route.segments[1] : route.query.get('namespace') ?? '';
  const rights = useRights(namespace);
  const submits = pages.submit && (rights.can('create', 'rayjobs') || rights.can('create', 'services', 'proxy'));
  useKeys({'?': () => setHelp(true)});
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <${Link} class="brand" to=${listPath('clusters', namespace)} aria-label="raygate, all clusters"><img src="/ui/icon.svg" alt="" width="22" height="22" /><span>raygate</span><//>
      <nav class="kinds" aria-label="Kinds">${Object.values(kinds).map((k) => html`<${Link} key=${k.plural} to=${listPath(k.plural, namespace)}
        aria-current=${k.plural === plural ? (inObject ? 'true' : 'page') : undefined}>${k.label}<//>`)}
        ${submits && html`<${Link} to=${'/ui/submit' + (namespace ? '?namespace=' + encodeURIComponent(namespace) : '')} aria-current=${plural === 'submit' ? 'page' : undefined}>Submit<//>`}
        ${session.history && Object.values(kinds).some((k) => k.results && rights.can('list', k.resource))
          && html`<${Link} to=${listPath('past', namespace)} aria-current=${plural === 'past' ? (inPast ? 'true' : 'page') : undefined}>Past<//>`}
        ${session.history && rights.can('list', 'rayclusters') && html`<${Link} to=${listPath('usage', namespace)} aria-current=${plural === 'usage' ? 'page' : undefined}>Usage<//>`}</nav>
      <div class="top-right">
        <${NamespaceChoice} namespace=${namespace} plural=${listed ? plural : 'clusters'} onList=${!inObject && listed} />
        <${ThemeSwitch} />
        <button type="button" class="icon" aria-label="Keys" title="Keys (?)" onClick=${() => setHelp(true)}>?</button>
        <${Who} session=${session} onLogout=${onLogout} />
      </div>
    </header>
    <${Guard} key=${route.path}>${pageOf(route, session)}<//>
    <${Toasts} />
    ${help && html`<${Keys} onClose=${() => setHelp(false)} />`}`;
}

// Guard keeps a page that fails from taking the others with it.
function Guard({children}) {
  const [error, reset] = useErrorBoundary((err) => console.error(err));
  if (error) return html`<main id="main" class="page"><${ErrorBox} error=${error} title="This page has failed." onRetry=${reset} /></main>`;
  return children;
}

// NamespaceChoice selects the namespace of lists: from those that there are or, when these cannot be listed, by name.
function NamespaceChoice({namespace, plural, onList}) {
  const {data, error} = useFetched((signal) => request('GET', '/ui/api/namespaces', {signal}), '');
  const known = data ?? (error && {namespaces: [], complete: false, all: true});
  const choose = (value) => (onList ? setQuery({namespace: value}, {replace: false}) : navigate(listPath(plural, value)));
  useEffect(() => { // a gateway of single namespaces has no list of all
    if (known && !known.all && !namespace && known.namespaces.length) choose(known.namespaces[0]);
  }, [known, namespace]);
  if (!known) return html`<span class="namespace" />`;
  if (!known.complete) {
    return html`<form class="namespace" onSubmit=${(e) => { e.preventDefault(); choose(e.target.elements.namespace.value.trim()); }}>
      <label class="sr" for="namespace">Namespace</label>
      <input id="namespace" name="namespace" class="input" list="namespaces" placeholder="All namespaces" value=${namespace} spellcheck=${false} autocomplete="off"
        onChange=${(e) => choose(e.target.value.trim())} />
      <datalist id="namespaces">${known.namespaces.map((n) => html`<option value=${n} />`)}</datalist></form>`;
  }
  const all = namespace && !known.namespaces.includes(namespace) ? [...known.namespaces, namespace] : known.namespaces;
  return html`<span class="namespace"><label class="sr" for="namespace">Namespace</label>
    <select id="namespace" class="input" value=${namespace} onChange=${(e) => choose(e.target.value)}>
      ${known.all && html`<option value="" selected=${namespace === ''}>All namespaces</option>`}
      ${all.map((n) => html`<option key=${n} value=${n} selected=${n === namespace}>${n}</option>`)}</select></span>`;
}

const themes = {'': ['System', '◐'], light: ['Light', '☀'], dark: ['Dark', '☾']};

// ThemeSwitch goes from the theme of the system to light to dark.
function ThemeSwitch() {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? '');
  const names = Object.keys(themes);
  const next = names[(names.indexOf(theme) + 1) % names.length];
  const change = () => {
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem('raygate-theme', next);
    } catch {
      // Without storage the choice lasts as long as the page.
    }
    setTheme(next);
  };
  const [label, sign] = themes[theme];
  return html`<button type="button" class="icon" aria-label="Theme: ${label}. Change to ${themes[next][0]}" title="Theme: ${label}" onClick=${change}>${sign}</button>`;
}

function Who({session, onLogout}) {
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const logout = async () => {
    setBusy(true);
    let ended = {};
    try {
      ended = await request('DELETE', '/ui/session');
    } finally {
      if (ended.logoutURL) location.assign(ended.logoutURL); // of the identity provider, which leads back here
      else onLogout();
    }
  };
  return html`<button type="button" class="icon" aria-label="Who you are: ${session.user}" title=${session.user} onClick=${() => setOpen(true)}>
      <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle cx="8" cy="5" r="3" /><path d="M2.5 14a5.5 5.5 0 0 1 11 0" /></svg></button>
    ${open && html`<${Dialog} title="Who you are" onClose=${() => setOpen(false)} footer=${html`
      ${session.login && html`<${Button} busy=${busy} onClick=${logout}>Log out<//>`}<${Button} kind="primary" onClick=${() => setOpen(false)}>Close<//>`}>
      <dl class="facts"><div><dt>User</dt><dd><code>${session.user}</code></dd></div>
        ${session.groups?.length > 0 && html`<div><dt>Groups</dt><dd>${session.groups.map((g) => html`<div><code>${g}</code></div>`)}</dd></div>`}
        <div><dt>Gateway</dt><dd>${session.version}</dd></div></dl>
      <p class="hint"><a href="/docs">The API</a> is what these pages are made of.</p>
    <//>`}`;
}

const keys = [['/', 'filter the list'], ['j k or ↓ ↑', 'next and previous row'], ['g G', 'first and last row'], ['Enter', 'open the row'], ['c', 'create'],
  ['1 to 9', 'tabs of an object'], ['Esc', 'close, or clear the filter'], ['?', 'this list']];

const Keys = ({onClose}) => html`<${Dialog} title="Keys" onClose=${onClose}><dl class="keys">${keys.map(([key, what]) => html`<div><dt><kbd>${key}</kbd></dt><dd>${what}</dd></div>`)}</dl><//>`;

render(html`<${App} />`, document.getElementById('app'));
