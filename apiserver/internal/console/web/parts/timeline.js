// The course of an incremental upgrade, from what statuses and events say. No DOM: its test runs without a browser.

// sampleOf takes from a RayService what the timeline shows. A share that the status leaves out is the one that the operator takes it for.
export function sampleOf(service, time) {
  const status = service.status || {};
  const pending = status.pendingServiceStatus;
  const upgrading = (status.conditions || []).some((c) => c.type === 'UpgradeInProgress' && c.status === 'True');
  const rolling = (status.conditions || []).some((c) => c.type === 'RollbackInProgress' && c.status === 'True');
  const of = (s, full) => (s && s.rayClusterName ? {
    name: s.rayClusterName, capacity: s.targetCapacity ?? full, traffic: s.trafficRoutedPercent ?? full, moved: s.lastTrafficMigratedTime || '',
    applications: applicationsOf(s),
  } : null);
  return {time, upgrading, rolling, active: of(status.activeServiceStatus, 100), pending: of(pending, 0)};
}

function applicationsOf(status) {
  const all = status.applicationStatuses || {};
  return Object.keys(all).sort().map((name) => ({name, status: all[name].status || 'UNKNOWN', message: all[name].message || ''}));
}

const capacityEvent = /^Set the target capacity of RayCluster (\S+) to (\d+) percent$/;

// samplesBefore makes samples of the events of a RayService, for what was before the page was open: events tell of capacities alone, so that traffic is
// null. now is the first sample of the page; what is of neither of its clusters belongs to an upgrade before.
export function samplesBefore(events, now) {
  const steps = [];
  for (const e of events) {
    const found = capacityEvent.exec(e.message || '');
    const time = Date.parse(e.lastTime || e.firstTime || '');
    if (found && !Number.isNaN(time) && time < now.time) {
      steps.push({time, name: found[1], capacity: Number(found[2])});
    }
  }
  steps.sort((a, b) => a.time - b.time);
  const capacity = {};
  const samples = [];
  for (const step of steps) {
    const side = ['active', 'pending'].find((s) => now[s] && now[s].name === step.name);
    if (!side || !now.pending) {
      continue;
    }
    capacity[side] = step.capacity;
    samples.push({
      time: step.time, upgrading: true, rolling: false, fromEvent: true,
      active: {name: now.active ? now.active.name : '', capacity: capacity.active ?? 100, traffic: null},
      pending: {name: now.pending.name, capacity: capacity.pending ?? 0, traffic: null},
    });
  }
  return samples;
}

const shares = (s) => (s ? `${s.name} ${s.capacity} ${s.traffic}` : '');
const sameAs = (a, b) => shares(a.active) === shares(b.active) && shares(a.pending) === shares(b.pending) && a.upgrading === b.upgrading && a.rolling === b.rolling;

// maxSamples bounds a page that is open for days: of more, the oldest go.
const maxSamples = 1000;

// withSample adds a sample if it says something new.
export function withSample(samples, sample) {
  const last = samples[samples.length - 1];
  if (last && sameAs(last, sample)) {
    return samples;
  }
  return [...samples, sample].slice(-maxSamples);
}

// clustersOf lists the clusters that a timeline is about, in the order in which they came: the one that served first, first.
export function clustersOf(samples) {
  const names = [];
  for (const s of samples) {
    for (const side of [s.active, s.pending]) {
      if (side && side.name && !names.includes(side.name)) {
        names.push(side.name);
      }
    }
  }
  return names;
}

const sideOf = (sample, name) => [sample.active, sample.pending].find((s) => s && s.name === name) || null;

// seriesOf returns the values of one cluster over time as points of steps, ready to draw: x and y from 0 to the given width and height. A value that is not
// known (traffic before the page was open) interrupts the line: each part is a list of its own.
export function seriesOf(samples, name, value, {from, to, width, height}) {
  const x = (time) => round(((time - from) / Math.max(1, to - from)) * width);
  const y = (percent) => round(height - (percent / 100) * height);
  const parts = [];
  let points = null;
  samples.forEach((sample, i) => {
    const side = sideOf(sample, name);
    const known = side && side[value] !== null && side[value] !== undefined;
    if (!known) {
      points = null;
      return;
    }
    if (!points) {
      points = [];
      parts.push(points);
    }
    const until = i + 1 < samples.length ? samples[i + 1].time : to;
    points.push([x(sample.time), y(side[value])], [x(until), y(side[value])]);
  });
  return parts;
}

const round = (n) => Math.round(n * 100) / 100;

// stateOf says in a sentence how far it is.
export function stateOf(sample, options) {
  const {active, pending} = sample;
  if (!pending) {
    return active ? `No upgrade is under way: RayCluster ${active.name} serves all traffic.` : 'No cluster serves yet.';
  }
  if (!active) {
    return `RayCluster ${pending.name} is made ready for the first time.`;
  }
  const shares = `RayCluster ${pending.name} has ${pending.capacity} % of the capacity and ${pending.traffic} % of the traffic, ${active.name} has ${active.capacity} % and ${active.traffic} %.`;
  if (sample.rolling) {
    return 'The upgrade is rolled back. ' + shares;
  }
  if (!options) {
    return `RayCluster ${pending.name} is made ready and then takes over from ${active.name} at once.`;
  }
  return shares;
}

// waitingFor says why the next step has not come yet, from the shares alone; empty when that is all one can know.
export function waitingFor(sample, options, now) {
  const {active, pending} = sample;
  if (!active || !pending || !options || sample.rolling) {
    return '';
  }
  const bad = pending.applications.find((a) => a.status !== 'RUNNING');
  if (pending.applications.length === 0) {
    return 'Waits for applications on the new cluster.';
  }
  if (bad) {
    return `Waits for application ${bad.name}, which is ${bad.status}.`;
  }
  if (pending.traffic < pending.capacity) {
    const next = Date.parse(pending.moved) + (options.intervalSeconds || 0) * 1000;
    const percent = Math.min(options.stepSizePercent || 0, pending.capacity - pending.traffic);
    if (next > now) {
      return `The next ${percent} % of the traffic move in ${Math.ceil((next - now) / 1000)} s.`;
    }
    return `The next ${percent} % of the traffic are about to move.`;
  }
  return '';
}
