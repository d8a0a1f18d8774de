// Texts that are not sent yet, and what becomes of them when one leaves.
import {useEffect} from '../lib/ui.js';

// useUnsaved asks before a link, or the browser, leaves a page with a text that is not sent.
export function useUnsaved(changed) {
  useEffect(() => {
    if (!changed) {
      return undefined;
    }
    const ask = (e) => e.preventDefault();
    const click = (e) => {
      const elsewhere = e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0 || !e.target.closest?.('a[href^="/ui/"]');
      if (!elsewhere && !confirm('Leave this page, and lose the text that you have edited?')) {
        e.preventDefault();
        e.stopPropagation();
      }
    };
    addEventListener('beforeunload', ask);
    document.addEventListener('click', click, {capture: true});
    return () => {
      removeEventListener('beforeunload', ask);
      document.removeEventListener('click', click, {capture: true});
    };
  }, [changed]);
}

// newRequestID is a UUID. A create that is sent again with the same one, since its answer was lost, makes nothing twice.
export function newRequestID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((b, i) => ([4, 6, 8, 10].includes(i) ? '-' : '') + b.toString(16).padStart(2, '0')).join('');
}
