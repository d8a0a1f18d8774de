// The page that edits the YAML of an object.
import {Button, Empty, ErrorBox, html, Link, navigate, Spinner, toast, useEffect, useRef, useState, useTitle, Warnings} from '../lib/ui.js';
import {useAgain, useEvery} from '../lib/again.js';
import {Code, request} from '../lib/api.js';
import {useRights} from '../lib/rights.js';
import {listPath, objectPath} from '../lib/router.js';
import {useCheck, withLines} from '../parts/check.js';
import {diffOf} from '../parts/diff.js';
import {keepDraft} from '../parts/draft.js';
import {Editor} from '../parts/editor.js';
import {useUnsaved} from '../parts/leaving.js';
import {problemsOf} from '../parts/problems.js';
import {versionOf, withoutStatus, withoutVersion, withVersion} from '../parts/templates.js';

// Edit is /ui/namespaces/NS/KINDS/NAME/edit.
export function Edit({kind, namespace, name}) {
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}`;
  const [stored, setStored] = useState(null); // the YAML that the edited text is based on
  const [text, setText] = useState('');
  const [error, setError] = useState(null); // of reading
  const [failure, setFailure] = useState(null); // of saving
  const [problems, setProblems] = useState(null);
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState(false);
  const editor = useRef(null);
  const rights = useRights(namespace, {resource: kind.resource, name});
  const changed = stored !== null && text !== stored;
  const check = useCheck({text: changed ? text : '', method: 'PUT', path});
  const trouble = failure ?? (check.state === 'refused' ? check.error : null);
  const overtaken = [Code.ABORTED, Code.NOT_FOUND].includes(trouble?.code); // by what somebody else has done to the object
  useTitle(`Edit ${name}`);
  useUnsaved(changed && !done);
  const read = async () => withoutStatus(await request('GET', path, {accept: 'application/yaml'}));
  const load = async () => {
    try {
      const yaml = await read();
      setError(null);
      setStored(yaml);
      setText(yaml);
      setFailure(null);
      setProblems(null);
    } catch (err) {
      setError(err);
    }
  };
  useEffect(() => { load(); }, [path]);
  useAgain(stored === null ? error : null, load);
  const mayNot = rights.loaded && !rights.error && !rights.can('update', kind.resource);
  useEvery(mayNot, rights.again);
  const edit = (next) => {
    setText(next);
    setProblems(null);
    setFailure(null);
  };
  const save = async () => {
    if (busy || !changed || overtaken) {
      return;
    }
    setBusy(true);
    setFailure(null);
    try {
      await request('PUT', path, {body: text, contentType: 'application/yaml'});
      setDone(true);
      toast(`${kind.kind} ${name} is saved.`);
      navigate(objectPath(kind.plural, namespace, name));
    } catch (err) {
      const found = problemsOf(err, Code);
      if (found === null) {
        setFailure(err);
      } else {
        const placed = await withLines(found, text);
        setProblems(placed);
        if (placed[0]?.line > 0) {
          editor.current?.show(placed[0]);
        }
      }
      setBusy(false);
    }
  };
  const rebase = (theirs) => {
    setStored(theirs);
    edit(withVersion(text, versionOf(theirs)));
  };
  const heading = html`<nav class="crumbs" aria-label="Where this is"><${Link} to=${listPath(kind.plural)}>${kind.label}<//><span aria-hidden="true">/</span>
      <${Link} to=${listPath(kind.plural, namespace)}>${namespace}<//><span aria-hidden="true">/</span><${Link} to=${objectPath(kind.plural, namespace, name)}>${name}<//></nav>
    <header class="page-head"><h1>Edit ${kind.one} ${name}</h1></header>`;
  if (stored === null) {
    return html`<main class="page" id="main">${heading}${error
      ? error.code === Code.NOT_FOUND ? html`<${Empty} title=${`There is no ${kind.one} ${name} in ${namespace}`} />` : html`<${ErrorBox} error=${error} onRetry=${load} />`
      : html`<${Spinner} label="Loading" />`}</main>`;
  }
  return html`<main class="page" id="main">${heading}
    ${overtaken && (trouble.code === Code.ABORTED ? html`<${Conflict} stored=${stored} read=${read} onTheirs=${(theirs) => { setStored(theirs); edit(theirs); }} onMine=${rebase} />`
      : html`<${Deleted} kind=${kind} namespace=${namespace} text=${text} />`)}
    <${Editor} label="YAML of the object, without its status" value=${text} onInput=${edit} problems=${problems ?? check.problems} state=${problems ? 'done' : trouble ? 'idle' : check.state} error=${check.error} onAgain=${check.again}
      onSubmit=${save} handle=${editor} readOnly=${mayNot} />
    ${mayNot && html`<${Warnings} warnings=${[`You may not update ${kind.resource} ${name} in namespace ${namespace}.`]} />`}
    <div class="page-foot">${!overtaken && html`<${ErrorBox} error=${trouble} title="It was not saved." onRetry=${trouble?.away ? save : undefined} />`}
      ${!mayNot && html`<${Button} kind="primary" busy=${busy} disabled=${!changed || overtaken} onClick=${save}>Save<//>`}
      <${Link} class="button quiet" to=${objectPath(kind.plural, namespace, name)}>Cancel<//></div>
  </main>`;
}

// Conflict says what somebody else has changed, and lets one choose how to go on.
function Conflict({stored, read, onTheirs, onMine}) {
  const [theirs, setTheirs] = useState(null);
  const [error, setError] = useState(null);
  const look = () => {
    read().then((yaml) => { setError(null); setTheirs(yaml); }, setError);
  };
  useEffect(look, []);
  useAgain(error, look);
  const shown = useRef(null);
  useEffect(() => shown.current.scrollIntoView({block: 'center'}), [theirs]);
  const lines = theirs === null ? [] : diffOf(withoutVersion(stored), withoutVersion(theirs));
  return html`<section class="conflict" role="alert" aria-label="Conflict" ref=${shown}>
    <h2>Somebody has changed it since you began</h2>
    ${error && html`<${ErrorBox} error=${error} onRetry=${look} />`}
    ${theirs !== null && html`
      ${lines.length > 0 ? html`<p>What they changed:</p><pre class="diff" tabindex="0" aria-label="Their changes">${lines.map((l) => html`<span class=${l.kind === '+' ? 'diff-added' : l.kind === '-' ? 'diff-removed' : ''}>${l.kind} ${l.text}${'\n'}</span>`)}</pre>`
        : html`<p>Nothing of what you see here: only its status or the like. Go on with your text.</p>`}
      <div class="page-foot"><${Button} kind="primary" onClick=${() => onMine(theirs)}>Go on with my text<//>
        <${Button} onClick=${() => onTheirs(theirs)}>Take theirs, and drop mine<//></div>
      ${lines.length > 0 && html`<p class="muted">Saving your text takes their changes back, unless you add them to it.</p>`}`}
  </section>`;
}

function Deleted({kind, namespace, text}) {
  const again = () => {
    keepDraft(withoutVersion(text));
    navigate(`/ui/create?kind=${kind.plural}&namespace=${encodeURIComponent(namespace)}`);
  };
  const shown = useRef(null);
  useEffect(() => shown.current.scrollIntoView({block: 'center'}), []);
  return html`<section class="conflict" role="alert" ref=${shown}><h2>It has been deleted since you began</h2>
    <div class="page-foot"><${Button} kind="primary" onClick=${again}>Create it anew from this text<//></div></section>`;
}
