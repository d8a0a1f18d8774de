// Texts that are not sent yet, and what becomes of them when one leaves.
import {useEffect} from '../lib/ui.js';

// useUnsaved lets the browser ask before it leaves a page with a text that is not sent.
export function useUnsaved(changed) {
  useEffect(() => {
    if (!changed) {
      return undefined;
    }
    const ask = (e) => e.preventDefault();
    addEventListener('beforeunload', ask);
    return () => removeEventListener('beforeunload', ask);
  }, [changed]);
}

// newRequestID is a UUID. A create that is sent again with the same one, since its answer was lost, makes nothing twice.
export function newRequestID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((b, i) => ([4, 6, 8, 10].includes(i) ? '-' : '') + b.toString(16).padStart(2, '0')).join('');
}
