// Kubernetes quantities. No DOM: its test runs without a browser.

const scales = {n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, Ki: 2 ** 10, M: 1e6, Mi: 2 ** 20, G: 1e9, Gi: 2 ** 30, T: 1e12, Ti: 2 ** 40, P: 1e15, Pi: 2 ** 50, E: 1e18, Ei: 2 ** 60};

// quantity is a Kubernetes quantity as a number; 0 for what is none.
export function quantity(text) {
  const m = /^([\d.]+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(text ?? '');
  return m ? Number(m[1] + (m[2] ?? '')) * (scales[m[3]] ?? 1) : 0;
}

const short = (n) => String(n < 10 ? Math.round(n * 10) / 10 : Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');

// countText is a number of CPUs and the like: below one in thousandths, as Kubernetes writes it, and never 0 for what is more.
export function countText(text) {
  const n = quantity(text);
  if (n === 0) {
    return '';
  }
  return n < 1 ? `${Math.ceil(n * 1000 - 1e-9)}m` : short(n);
}

// bytesText is an amount of memory as [number, unit]: in GiB, as requests have it, or in what is smaller where it is less than one; null for none.
export function bytesText(text) {
  const n = quantity(text);
  const unit = ['Gi', 'Mi', 'Ki'].find((u) => n >= scales[u]);
  return n === 0 ? null : [unit ? short(n / scales[unit]) : short(Math.ceil(n)), unit ? unit + 'B' : 'B'];
}
