// The page of an object: its state in a glance, and tabs for all that is known of it.
import {Badge, cls, Empty, ErrorBox, html, Spinner, Tabs, useKeys, useTitle} from '../lib/ui.js';
import {useEvery} from '../lib/again.js';
import {Code} from '../lib/api.js';
import {Link, listPath, navigate, objectPath} from '../lib/router.js';
import {useRights} from '../lib/rights.js';
import {useObject} from '../lib/watch.js';
import {Actions, pages, tabs as partTabs} from '../parts/registry.js';
import {Live} from './live.js';
import {Overview} from './overview.js';
import {Pods} from './pods.js';
import {Events} from './events.js';
import {YAML} from './yaml.js';

const own = {overview: Overview, pods: Pods, events: Events, yaml: YAML};

// tabsOf returns the tabs of a kind that the console has, that the rights allow, and that the gateway has something for.
const tabsOf = (kind, rights, history) => kind.tabs.filter((t) => (t.id in own || t.id in partTabs) && (!t.needs || rights.can(...t.needs)) && (!t.history || history));

export function ObjectPage({kind, namespace, name, route, session}) {
  const rights = useRights(namespace, {resource: kind.resource, name});
  const watches = rights.loaded ? Boolean(rights.error) || rights.can('watch', kind.resource) : undefined;
  useEvery(watches === false, rights.again);
  const state = useObject(kind, namespace, name, watches);
  const tabs = tabsOf(kind, rights, session.history);
  const wanted = route.query.get('tab') ?? 'overview';
  const active = tabs.some((t) => t.id === wanted) ? wanted : 'overview';
  const pathOf = (tab) => objectPath(kind.plural, namespace, name, tab);
  useTitle(`${name} (${kind.one})`);
  useKeys(Object.fromEntries(tabs.slice(0, 9).map((t, i) => [String(i + 1), () => navigate(pathOf(t.id))])));
  const {object} = state;
  const past = session.history && kind.results && html`<${Link} to=${`${listPath('past', namespace)}&kind=${kind.plural}&name=${encodeURIComponent(name)}`}>In the history<//>`;
  const Tab = own[active] ?? partTabs[active];
  return html`<main id="main" class="page">
    <nav class="crumbs" aria-label="Where this is"><${Link} to=${listPath(kind.plural)}>${kind.label}<//><span aria-hidden="true">/</span>
      <${Link} to=${listPath(kind.plural, namespace)}>${namespace}<//></nav>
    <header class="page-head">
      <h1 class="name">${name}</h1>
      ${object && html`<${State} kind=${kind} object=${object} gone=${state.deleted} />`}
      <${Live} state=${state} />
      <span class="grow" />
      ${object && !state.deleted && html`<div class="actions">
        ${Actions && html`<${Actions} kind=${kind} object=${object} rights=${rights} />`}
        ${pages.edit && rights.can('update', kind.resource) && html`<${Link} class="button" to=${pathOf() + '/edit'}>Edit<//>`}
      </div>`}
    </header>
    ${state.fatal || state.missing ? html`<${Failure} kind=${kind} namespace=${namespace} name=${name} state=${state} past=${past} />`
      : !object ? (state.error ? html`<${ErrorBox} error=${state.error} title="Not loaded yet." />` : html`<${Spinner} />`)
      : html`
        ${state.deleted && html`<div class="warning-box" role="status">This ${kind.one} has been deleted. Below is how it was last. ${past}</div>`}
        <${Tabs} tabs=${tabs} active=${active} to=${pathOf} />
        <section class=${cls('tab', 'tab-' + active)} aria-label=${tabs.find((t) => t.id === active)?.label}>
          <${Tab} key=${active} kind=${kind} object=${object} rights=${rights} />
        </section>`}
  </main>`;
}

function State({kind, object, gone}) {
  if (gone) return html`<${Badge} tone="idle">Deleted<//>`;
  const s = kind.state(object);
  return html`<span role="status"><${Badge} tone=${s.tone} title=${s.why}>${s.text}<//></span>`;
}

function Failure({kind, namespace, name, state, past}) {
  const {error, missing} = state;
  if (missing || error?.code === Code.NOT_FOUND) {
    return html`<${Empty} title=${`There is no ${kind.one} ${name} in ${namespace}`}><p>It may have been deleted. This page shows it as soon as it is there. ${past}</p>
      <p><${Link} class="button" to=${listPath(kind.plural, namespace)}>All ${kind.label.toLowerCase()} in ${namespace}<//></p><//>`;
  }
  if (error?.code === Code.PERMISSION_DENIED) {
    return html`<${Empty} title=${`You may not see this ${kind.one}`}><p>Ask the administrator of ${namespace} for the right.</p><p class="hint">${error.message}</p><//>`;
  }
  return html`<${ErrorBox} error=${error} title="It cannot be shown." onRetry=${() => location.reload()} />`;
}
