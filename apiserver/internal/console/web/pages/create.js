// The page that creates an object from YAML.
import {Button, ErrorBox, html, navigate, toast, useID, useMemo, useRef, useState, useTitle, Warnings} from '../lib/ui.js';
import {useEvery} from '../lib/again.js';
import {Code, request} from '../lib/api.js';
import {kindNamed, kindOf, kinds} from '../lib/kinds.js';
import {useRights} from '../lib/rights.js';
import {objectPath} from '../lib/router.js';
import {useCheck, withLines} from '../parts/check.js';
import {takeDraft} from '../parts/draft.js';
import {Editor} from '../parts/editor.js';
import {newRequestID, useUnsaved} from '../parts/leaving.js';
import {problemsOf} from '../parts/problems.js';
import {headerOf, templates} from '../parts/templates.js';

// Create is /ui/create?kind=&namespace=.
export function Create({route}) {
  const asked = kindOf(route.query.get('kind')) ?? kindNamed(route.query.get('kind')) ?? kinds.clusters;
  const namespace = route.query.get('namespace') || 'default';
  const [start] = useState(() => takeDraft() ?? templates[asked.kind][0].text(namespace));
  const [text, setText] = useState(start);
  const [origin, setOrigin] = useState(start); // what the text was before it was edited
  const [problems, setProblems] = useState(null); // of the last attempt to create, until the text changes
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState(false);
  const editor = useRef(null);
  const requestID = useRef('');
  const pick = useID('template');
  const header = useMemo(() => headerOf(text), [text]);
  const kind = kindNamed(header.kind);
  const target = header.namespace || namespace;
  const rights = useRights(target);
  const path = kind && `/apis/v2/namespaces/${encodeURIComponent(target)}/${kind.plural}`;
  const mayNot = kind && rights.loaded && !rights.error && !rights.can('create', kind.resource);
  useEvery(Boolean(mayNot), rights.again);
  const check = useCheck({text, method: 'POST', path: rights.loaded && !mayNot ? path : undefined});
  useTitle(`Create a ${kind ? kind.one : 'object'}`);
  useUnsaved(text !== origin && !done);
  const edit = (next) => {
    setText(next);
    setProblems(null);
    setError(null);
    requestID.current = '';
  };
  const begin = (plural, n) => {
    const next = templates[kinds[plural].kind][n].text(target);
    edit(next);
    setOrigin(next);
  };
  const create = async () => {
    if (busy || !path) {
      return;
    }
    const known = check.state === 'done' ? check.problems.filter((p) => p.severity === 'error') : [];
    if (known.length > 0) {
      if (known[0].line > 0) {
        editor.current.show(known[0]);
      }
      return;
    }
    setBusy(true);
    setError(null);
    requestID.current ||= newRequestID();
    try {
      const object = await request('POST', path, {query: {requestId: requestID.current}, body: text, contentType: 'application/yaml'});
      setDone(true);
      toast(`${kind.kind} ${object.metadata.name} is created.`);
      navigate(objectPath(kind.plural, object.metadata.namespace, object.metadata.name));
    } catch (err) {
      const found = problemsOf(err, Code);
      if (found === null) {
        setError(err);
      } else {
        setProblems(await withLines(found, text));
      }
      setBusy(false);
    }
  };
  return html`<main class="page" id="main">
    <header class="page-head"><h1>Create a ${kind ? kind.one : 'Ray object'}</h1></header>
    <div class="editor-bar">
      <label class="field-inline" for=${pick}>Start from</label>
      <select id=${pick} class="input" value="" onChange=${(e) => {
        const [plural, n] = e.currentTarget.value.split('/');
        if (plural && (text === origin || confirm('Replace the text that you have edited?'))) {
          begin(plural, Number(n));
        }
        e.currentTarget.value = '';
      }}>
        <option value="">a template…</option>
        ${Object.values(kinds).map((k) => html`<optgroup key=${k.plural} label=${k.kind}>${templates[k.kind].map((t, n) => html`<option value=${k.plural + '/' + n}>${t.name}</option>`)}</optgroup>`)}
      </select>
      <span class="muted">in namespace <strong>${target}</strong></span>
    </div>
    <${Editor} label="YAML or JSON of the object" value=${text} onInput=${edit} problems=${problems ?? check.problems} state=${problems ? 'done' : check.state} error=${check.error} onAgain=${check.again} onSubmit=${create} handle=${editor} />
    ${!kind && html`<p class="field-problem" role="status">${header.kind ? `Kind ${header.kind} is none of Ray's: use ` : 'The text needs a line with its kind: '}${Object.values(kinds).map((k) => k.kind).join(', ')}.</p>`}
    ${mayNot && html`<${Warnings} warnings=${[`You may not create ${kind.resource} in namespace ${target}.`]} />`}
    <div class="page-foot"><${ErrorBox} error=${error} title="It was not created." onRetry=${error?.away ? create : undefined} />
      ${!mayNot && html`<${Button} kind="primary" busy=${busy} disabled=${!path} onClick=${create}>Create<//>`}
      <${Button} kind="quiet" onClick=${() => history.back()}>Cancel<//></div>
  </main>`;
}
