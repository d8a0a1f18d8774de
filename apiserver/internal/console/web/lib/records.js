// What the history has of ended objects: reading records, and the words for them.
import {useState} from '../vendor/preact-htm.js';
import {request, urlOf} from './api.js';
import {useFetched} from './fetched.js';
import {objectPath} from './router.js';

const tones = {SUCCEEDED: 'ok', FAILED: 'error', failed: 'error'};

// resultTone is the tone of a result; that of a job that was stopped, and of what was deleted while it ran, is idle.
export const resultTone = (record) => tones[record.result] ?? 'idle';

// runOf names the attempt of an object in queries of the API and of pages.
export const runOf = ({uid, attempt}) => ({uid, attempt: attempt || ''});

// recordPath is the page of a record of a kind, of its tab if one is given.
export const recordPath = (kind, record, tab = '') => urlOf(objectPath(kind.plural, record.namespace, record.name) + '/past', {...runOf(record), tab: tab === 'overview' ? '' : tab});

// secondsOf is for how long an attempt ran, or a deleted object existed.
export const secondsOf = (record) => (new Date(record.endTime) - new Date(record.startTime ?? record.createTime)) / 1000;

// useRecords reads the records of a namespace page by page, the newest first: {records, next, error, loading, older, again}. next is true if there may be older
// ones, which older() adds. query has the parameters of the API; it is read once.
export function useRecords(namespace, query) {
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/history`;
  const [from, setFrom] = useState({token: '', before: []});
  const {data, error, loading} = useFetched((signal) => request('GET', path, {query: {...query, pageToken: from.token}, signal})
    .then((page) => ({records: [...from.before, ...(page.records ?? [])], token: page.nextPageToken ?? ''})), from);
  return {
    records: data?.records, next: Boolean(data?.token), error, loading,
    older: () => setFrom({token: data.token, before: data.records}),
    again: () => setFrom({token: '', before: []}),
  };
}
