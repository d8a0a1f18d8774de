// Paths of pages, and links between them that load nothing anew.
import {html, useEffect, useState} from '../vendor/preact-htm.js';

const changed = 'raygate-navigate';

// navigate goes to a path of the console. With replace it takes the place of the present page in the history.
export function navigate(to, {replace = false} = {}) {
  if (to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState']({}, '', to);
  dispatchEvent(new Event(changed));
}

// setQuery changes parameters of the present path; an empty value removes one.
export function setQuery(values, {replace = true} = {}) {
  const params = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(values)) {
    if (value) params.set(name, value);
    else params.delete(name);
  }
  const text = params.toString();
  navigate(location.pathname + (text ? '?' + text : ''), {replace});
}

const current = () => {
  const segments = location.pathname.replace(/^\/ui\/?/, '').split('/').filter(Boolean).map((s) => {
    try {
      return decodeURIComponent(s);
    } catch {
      return s;
    }
  });
  return {path: location.pathname, segments, query: new URLSearchParams(location.search)};
};

// useRoute returns {path, segments, query} of the present page, segments being decoded and without the first, ui.
export function useRoute() {
  const [route, setRoute] = useState(current);
  useEffect(() => {
    const update = () => setRoute(current());
    addEventListener('popstate', update);
    addEventListener(changed, update);
    update(); // what changed between the first rendering and now
    return () => {
      removeEventListener('popstate', update);
      removeEventListener(changed, update);
    };
  }, []);
  return route;
}

// Link is an anchor. What is meant for the browser, such as a click with Ctrl, is left to it.
export function Link({to, children, replace, onClick, ...rest}) {
  const click = (e) => {
    onClick?.(e);
    if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    e.preventDefault();
    navigate(to, {replace});
  };
  return html`<a href=${to} onClick=${click} ...${rest}>${children}</a>`;
}

// objectPath is the page of an object, of its tab if one is given.
export function objectPath(plural, namespace, name, tab) {
  const path = `/ui/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
  return tab && tab !== 'overview' ? `${path}?tab=${tab}` : path;
}

// listPath is the page of a kind, in one namespace or, with none, all.
export const listPath = (plural, namespace) => `/ui/${plural}${namespace ? '?namespace=' + encodeURIComponent(namespace) : ''}`;
