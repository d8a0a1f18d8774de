// Whether a log can still come. No DOM: its test runs without a browser.

// early are the reasons for which a log is not there yet.
const early = ['JOB_NOT_STARTED', 'LOG_NOT_READY', 'CLUSTER_NOT_READY'];

// whyNone says why a RayJob has no log and will get none: it has ended and never ran. It is empty as long as a log may come, or has been.
export function whyNone(job) {
  const {jobDeploymentStatus: state, jobStatus, reason, message} = job.status ?? {};
  const ended = ['Complete', 'Failed', 'ValidationFailed'].includes(state);
  if (!ended || (jobStatus && jobStatus !== 'NEW' && jobStatus !== 'PENDING')) {
    return '';
  }
  const why = [reason, message].filter(Boolean).join(': ');
  return `The RayJob ended as ${state} before its job ran${why && '. ' + why}`;
}

// stateOf tells what an error says of a log: waiting (it may come), none (it will not, none being what whyNone says), or failed.
export function stateOf(error, code, none) {
  if (early.includes(error.reason)) {
    return none === '' ? 'waiting' : 'none';
  }
  return error.away || error.code === code.RESOURCE_EXHAUSTED || error.code === code.ABORTED ? 'waiting' : 'failed';
}
