// Whether what a page shows is as it is now.
import {ageText, Badge, html} from '../lib/ui.js';

// Live is the state of a page's watch: live, connecting, the API server away, or the gateway away. watched is false for what is not followed at all.
export function Live({state}) {
  const {live, synced, stale, error, fatal, watched} = state;
  if (fatal) return null;
  if (watched === false) return html`<${Badge} tone="idle" title="Without the right to watch, the page shows what was when it opened.">Not live<//>`;
  if (error) return html`<span role="status"><${Badge} tone="error" title=${error.message}>${synced ? 'Connection lost, trying again' : 'Connecting'}<//></span>`;
  if (stale > 0) {
    return html`<span role="status"><${Badge} tone="warn" title="The gateway shows what it saw last.">Kubernetes away for ${ageText(stale)}<//></span>`;
  }
  if (!synced) return html`<${Badge} tone="busy">${live ? 'Loading' : 'Connecting'}<//>`;
  return html`<${Badge} tone="ok live" title="Changes appear as they happen.">Live<//>`;
}
