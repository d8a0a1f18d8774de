// The whole object as YAML, to read and to copy. It is read again whenever the object changes.
import {Button, ErrorBox, html, Spinner, toast} from '../lib/ui.js';
import {request} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';

export function YAML({kind, object}) {
  const {namespace, name, resourceVersion} = object.metadata;
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/${kind.plural}/${encodeURIComponent(name)}`;
  const {data, error, again} = useFetched((signal) => request('GET', path, {accept: 'application/yaml', signal}), resourceVersion);
  if (!data) return error ? html`<${ErrorBox} error=${error} title="The object cannot be shown." onRetry=${again} />` : html`<${Spinner} />`;
  return html`<${Text} text=${data} name=${name} error=${error}>resourceVersion ${resourceVersion}<//>`;
}

// Text shows YAML. children say what it is; an error means that it is not up to date.
export function Text({text, name, error, children}) {
  const copy = () => navigator.clipboard.writeText(text).then(() => toast('Copied'), () => toast('The browser does not let pages copy', 'error'));
  const download = () => {
    const url = URL.createObjectURL(new Blob([text], {type: 'application/yaml'}));
    const link = Object.assign(document.createElement('a'), {href: url, download: `${name}.yaml`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  return html`<div class="toolbar"><span class="muted">${children}</span><span class="grow" />
      ${window.isSecureContext && html`<${Button} onClick=${copy}>Copy<//>`}<${Button} onClick=${download}>Download<//></div>
    <${ErrorBox} error=${error} title="Not up to date." />
    <pre class="code" tabindex="0" aria-label="YAML of ${name}">${text.trimEnd().split('\n').map((line, i) => html`<span class="line" key=${i}>${colored(line)}</span>`)}</pre>`;
}

// colored tells keys, comments and values apart.
function colored(line) {
  if (/^\s*#/.test(line)) return html`<span class="y-comment">${line}</span>`;
  const m = /^(\s*(?:- )*)((?:"[^"]*"|[\w./$()-]+):)(\s.*)?$/.exec(line);
  if (!m) return line;
  const value = (m[3] ?? '').trim();
  const kind = /^-?[\d.]+$/.test(value) || value === 'true' || value === 'false' || value === 'null' ? 'y-plain' : 'y-text';
  return html`${m[1]}<span class="y-key">${m[2]}</span>${m[3] && html`<span class=${kind}>${m[3]}</span>`}`;
}
