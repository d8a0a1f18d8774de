// The field of a form with the files of a job: a folder or a zip that is chosen or dropped.
import {request} from '../lib/api.js';
import {html, useState, Warnings} from '../lib/ui.js';
import {chosen, dropped, ignoring, packageOf} from './package.js';

const sizeText = (bytes) => (bytes < 2 ** 20 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 2 ** 20).toFixed(1)} MiB`);

// Files calls onPick with the argument of packageOf, or null for none.
export function Files({picked, onPick}) {
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState('');
  const folder = (files) => onPick(files.length > 0 ? {files} : null);
  const zip = (list) => onPick(list.length > 0 ? {archive: list[0]} : null);
  const drop = (e) => {
    e.preventDefault();
    setOver(false);
    setProblem('');
    const entry = [...e.dataTransfer.items].map((item) => item.webkitGetAsEntry()).find((one) => one?.isDirectory);
    if (entry) dropped(entry).then(folder, (err) => setProblem(`The folder cannot be read: ${err.message}`));
    else zip([...e.dataTransfer.files].filter((file) => file.name.endsWith('.zip')));
  };
  const left = ignoring(picked?.files ?? []);
  let text = 'the working directory of the entrypoint; may be left empty. A folder or a zip may be dropped here';
  if (picked?.archive) text = `${picked.archive.name}, ${sizeText(picked.archive.size)}`;
  else if (picked) text = `${picked.files.length} files, ${sizeText(picked.files.reduce((sum, {file}) => sum + file.size, 0))}, without .git, virtual environments and __pycache__`;
  return html`<fieldset class=${over ? 'files over' : 'files'} onDragOver=${(e) => { e.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop} aria-describedby="submit-files-hint">
    <legend>Files</legend>
    <label>Folder <input type="file" id="submit-folder" webkitdirectory onChange=${(e) => folder(chosen(e.currentTarget.files))} /></label>
    <label>Zip <input type="file" id="submit-zip" accept=".zip,application/zip" onChange=${(e) => zip([...e.currentTarget.files])} /></label>
    <small class="muted" id="submit-files-hint">${text}</small>
    <${Warnings} warnings=${problem ? [problem] : []} />
    <${Warnings} warnings=${left.length > 0 ? [`The console does not read ${left.join(', ')}: all files of the folder are sent. Use raygate submit, or a zip, to leave some out.`] : []} />
  </fieldset>`;
}

// send sends what was picked, unless it is there already, to a running cluster, or to the gateway for a RayJob. It returns the URI for the runtime environment.
export async function send(picked, base, {cluster = '', job = ''}) {
  const {name, blob} = await packageOf(picked);
  const on = cluster ? `${base}/clusters/${encodeURIComponent(cluster)}` : base;
  const query = cluster ? {} : {jobName: job};
  try {
    return (await request('GET', `${on}/packages/${name}`, {query})).uri;
  } catch (err) {
    if (err.reason !== 'PACKAGE_NOT_FOUND') throw err;
  }
  return (await request('PUT', `${on}/packages/${name}`, {query, body: blob, contentType: 'application/zip'})).uri;
}
