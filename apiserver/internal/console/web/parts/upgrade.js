// The course of an incremental upgrade: capacities and traffic of both clusters as they change.
import {Badge, Empty, html, Link, Time, useEffect, useReducer, useRef, useState} from '../lib/ui.js';
import {requestPages} from '../lib/api.js';
import {useFetched} from '../lib/fetched.js';
import {objectPath} from '../lib/router.js';
import {clustersOf, sampleOf, samplesBefore, seriesOf, stateOf, waitingFor, withSample} from './timeline.js';

const height = 180;
const left = 34; // of the figures beside the axis
const shownSteps = 50;

// Upgrade is the tab of a RayService. It is given the object as the watch of the page has it, and makes no calls of its own but one for the events of before.
export function Upgrade({object}) {
  const [samples, setSamples] = useState([]);
  const [, tick] = useReducer((n) => n + 1, 0);
  const first = useRef(null);
  const {namespace, name, uid} = object.metadata;
  const options = object.spec?.upgradeStrategy?.type === 'NewClusterWithIncrementalUpgrade' ? object.spec.upgradeStrategy.clusterUpgradeOptions ?? {} : null;
  const now = sampleOf(object, Date.now());
  useEffect(() => {
    if (first.current === null || first.current.uid !== uid) {
      first.current = {uid, sample: now};
      setSamples([now]);
    } else {
      setSamples((all) => withSample(all, now));
    }
  }, [object]);
  const path = `/apis/v2/namespaces/${encodeURIComponent(namespace)}/services/${encodeURIComponent(name)}/events`;
  const {data: answer} = useFetched((signal) => requestPages(path, 'events', {query: {pageSize: 1000}, signal}), uid); // who may not read events sees what happens from now on
  useEffect(() => {
    if (answer) {
      setSamples((all) => [...samplesBefore(answer.events ?? [], first.current.sample), ...all.filter((s) => !s.fromEvent)]);
    }
  }, [answer]);
  useEffect(() => {
    const timer = now.pending ? setInterval(tick, 1000) : 0;
    return () => clearInterval(timer);
  }, [now.pending !== null]);
  const waiting = waitingFor(now, options, Date.now());
  return html`<div class="upgrade">
    <p role="status"><${Badge} tone=${now.rolling ? 'warn' : now.pending && now.active ? 'busy' : now.active ? 'ok' : 'idle'}>${word(now)}<//> ${stateOf(now, options)}</p>
    ${waiting && html`<p class="muted">${waiting}</p>`}
    ${options
      ? html`<p class="muted">Each step adds ${options.maxSurgePercent ?? 100} % of capacity at most and moves ${options.stepSizePercent} % of the traffic, every ${options.intervalSeconds} s, through a Gateway of class ${options.gatewayClassName}.</p>`
      : html`<p class="muted">This service is not upgraded step by step: its spec.upgradeStrategy.type is ${object.spec?.upgradeStrategy?.type ?? 'NewCluster'}.</p>`}
    <div class="upgrade-clusters">${[['Serves', now.active], ['Takes over', now.pending]].map(([role, side]) => side && html`<${Cluster} key=${side.name} role=${role} side=${side} namespace=${namespace} shares=${options !== null || now.pending !== null} />`)}</div>
    ${samples.length > 1 || options ? html`<${Course} samples=${samples} />` : null}
    ${!now.active && !now.pending && html`<${Empty} title="There is no cluster yet">The timeline begins with the first one.<//>`}
  </div>`;
}

const word = (s) => (s.rolling ? 'Rolling back' : s.pending && s.active ? 'Upgrading' : s.pending ? 'Starting' : s.active ? 'Serving' : 'New');

function Cluster({role, side, namespace, shares}) {
  return html`<div class="card upgrade-cluster">
    <h2>${role}: <${Link} to=${objectPath('clusters', namespace, side.name)}>${side.name}<//></h2>
    ${shares && html`<${Share} label="Capacity" value=${side.capacity} /><${Share} label="Traffic" value=${side.traffic} />`}
    ${side.moved && html`<p class="muted">Traffic last moved <${Time} at=${side.moved} ago=${true} />.</p>`}
    ${side.applications.length > 0 && html`<ul class="upgrade-apps">${side.applications.map((a) => html`<li key=${a.name}><${Badge} tone=${a.status === 'RUNNING' ? 'ok' : a.status === 'DEPLOYING' || a.status === 'NOT_STARTED' ? 'busy' : 'error'} title=${a.message}>${a.status}<//> ${a.name}</li>`)}</ul>`}
  </div>`;
}

const Share = ({label, value}) => html`<label class="share"><span>${label}</span><meter min="0" max="100" value=${value}>${value} %</meter><span class="share-value">${value} %</span></label>`;

// Course draws the shares over time, and lists the same steps for who cannot see them.
function Course({samples}) {
  const frame = useRef(null);
  const [width, setWidth] = useState(600); // so that texts in the drawing have the size of texts, whatever the width of the page
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(200, Math.floor(entry.contentRect.width) - left - 12)));
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  if (samples.length === 0) {
    return html`<figure ref=${frame} />`;
  }
  const from = samples[0].time;
  const to = Math.max(Date.now(), from + 10000);
  const area = {from, to, width, height};
  const names = clustersOf(samples);
  return html`<figure class="course" ref=${frame}>
    <figcaption>Shares of ${names.length === 1 ? 'the cluster' : 'the clusters'} since <time datetime=${new Date(from).toISOString()}>${new Date(from).toLocaleTimeString()}</time></figcaption>
    <svg viewBox=${`${-left} -8 ${width + left + 8} ${height + 30}`} role="img" aria-label="Capacity and traffic of each cluster over time; the table below has the same figures">
      ${[0, 25, 50, 75, 100].map((p) => html`<g key=${p}><line class="course-grid" x1="0" x2=${width} y1=${height - p * height / 100} y2=${height - p * height / 100} />
        <text class="course-text" x="-6" y=${height - p * height / 100 + 4} text-anchor="end">${p}</text></g>`)}
      <text class="course-text" x="0" y=${height + 18}>${new Date(from).toLocaleTimeString()}</text>
      <text class="course-text" x=${width} y=${height + 18} text-anchor="end">now</text>
      ${names.map((name, n) => html`<g key=${name} class="course-cluster-${n % 4}">
        ${seriesOf(samples, name, 'traffic', area).map((points, i) => html`<path key=${'t' + i} class="course-traffic" d=${line(points)} />`)}
        ${seriesOf(samples, name, 'capacity', area).map((points, i) => html`<path key=${'c' + i} class="course-capacity" d=${line(points)} />`)}
      </g>`)}
    </svg>
    <ul class="course-legend">${names.map((name, n) => html`<li key=${name} class="course-cluster-${n % 4}"><${Key} kind="traffic" /> ${name}: traffic <${Key} kind="capacity" /> capacity</li>`)}</ul>
    <${Steps} samples=${samples} names=${names} />
  </figure>`;
}

const Key = ({kind}) => html`<svg class="course-key" viewBox="0 0 24 8" aria-hidden="true"><path class="course-${kind}" d="M0 4 H24" /></svg>`;

const line = (points) => 'M' + points.map(([x, y]) => `${x} ${y}`).join(' L');

function Steps({samples, names}) {
  const side = (s, name) => [s.active, s.pending].find((c) => c && c.name === name);
  const percent = (n) => (n === null || n === undefined ? '–' : `${n} %`);
  const last = samples.slice(-shownSteps).reverse();
  return html`<div class="table-wrap" tabindex="0" role="region" aria-label="Steps"><table class="table plain">
    <caption class="sr">Steps, the newest first</caption>
    <thead><tr><th scope="col">Time</th>${names.map((name) => html`<th scope="col" key=${name}>${name}</th>`)}</tr></thead>
    <tbody>${last.map((s, i) => html`<tr key=${last.length - i}><th scope="row">${new Date(s.time).toLocaleTimeString()}</th>${names.map((name) => {
      const c = side(s, name);
      return html`<td key=${name} data-label=${name}>${c ? `${percent(c.capacity)} capacity, ${percent(c.traffic)} traffic` : '–'}</td>`;
    })}</tr>`)}</tbody>
  </table></div>`;
}
