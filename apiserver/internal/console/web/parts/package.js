// Packages of files for jobs, as Ray takes them. No page: its test runs it alone. The archive is stored and not compressed, and depends on nothing but
// paths and contents, so that the same files have the same name.

// Ray leaves these out by default.
const always = ['.git', '.venv', 'venv', '__pycache__'];

// maxPackage is what the gateway and Ray's dashboard accept by REST.
export const maxPackage = 100 * 1024 * 1024;

const table = new Uint32Array(256).map((_, n) => {
  let c = n;
  for (let k = 0; k < 8; k += 1) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function crcOf(data) {
  let c = 0xffffffff;
  for (const byte of data) c = table[(c ^ byte) & 0xff] ^ (c >>> 8);
  return (c ^ 0xffffffff) >>> 0;
}

// record makes a record of an archive of [number, bytes] pairs.
function record(fields) {
  const view = new DataView(new ArrayBuffer(fields.reduce((sum, [, size]) => sum + size, 0)));
  let at = 0;
  for (const [value, size] of fields) {
    if (size === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += size;
  }
  return new Uint8Array(view.buffer);
}

// archiveOf writes an archive of files, {path, data} with a Uint8Array, as a Blob. Paths are UTF-8, times are the first that an archive can have, and all
// files are executable, as a browser does not say which are.
export function archiveOf(files) {
  const parts = [];
  const directory = [];
  let offset = 0;
  for (const {path, data} of files) {
    const name = new TextEncoder().encode(path);
    // Flags, method, time, date, sum, sizes, length of the name and of extra fields.
    const about = [[0x0800, 2], [0, 2], [0, 2], [0x21, 2], [crcOf(data), 4], [data.length, 4], [data.length, 4], [name.length, 2], [0, 2]];
    const header = record([[0x04034b50, 4], [20, 2], ...about]);
    parts.push(header, name, data);
    // Length of the comment, disk, internal and external attributes (a regular file of Unix), place.
    directory.push(record([[0x02014b50, 4], [0x0314, 2], [20, 2], ...about, [0, 2], [0, 2], [0, 2], [(0o100755 << 16) >>> 0, 4], [offset, 4]]), name);
    offset += header.length + name.length + data.length;
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0);
  const end = record([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]]);
  return new Blob([...parts, ...directory, end], {type: 'application/zip'});
}

// sent are the files of a folder that are sent, in order.
const sent = (files) => files.filter(({path}) => !path.split('/').some((part) => always.includes(part))).sort((a, b) => (a.path < b.path ? -1 : 1));

// chosen returns the files of a folder that are sent, {path, file} below the folder and in order, from a list of File of a browser.
export const chosen = (list) => sent([...list].map((file) => ({path: (file.webkitRelativePath || file.name).replace(/^[^/]*\//, ''), file})));

// dropped returns the same for a folder that is dropped, a FileSystemDirectoryEntry.
export async function dropped(folder) {
  const files = [];
  const read = async (entry) => {
    if (entry.isFile) {
      files.push({path: entry.fullPath.slice(folder.fullPath.length + 1), file: await new Promise((done, failed) => entry.file(done, failed))});
      return;
    }
    const reader = entry.createReader();
    let some;
    do { // each call gives some, and the last one none
      some = await new Promise((done, failed) => reader.readEntries(done, failed));
      await Promise.all(some.filter(({name}) => !always.includes(name)).map(read));
    } while (some.length > 0);
  };
  await read(folder);
  return sent(files);
}

// ignoring returns the paths of files that name what must not be sent: the console does not read them.
export const ignoring = (files) => files.map(({path}) => path).filter((path) => /(?:^|\/)\.(?:git|ray)ignore$/.test(path));

// packageOf makes a package: of the files of chosen, or of one archive, a File. It returns {name, blob}. name has the SHA-256 sum of blob.
export async function packageOf({files = [], archive = null}) {
  let blob = archive;
  if (!blob) {
    const total = files.reduce((sum, {file}) => sum + file.size, 0);
    if (total > maxPackage) throw new Error(`The files have ${Math.ceil(total / 2 ** 20)} MiB, and a package at most 100 MiB. Leave out what the job does not need.`);
    if (files.length > 65535) throw new Error('There are more than 65,535 files. Leave out what the job does not need.');
    const read = await Promise.all(files.map(async ({path, file}) => ({path, data: new Uint8Array(await file.arrayBuffer())})));
    // Ray drops the top folder of an archive that it fetches by URL if nothing is beside it.
    const tops = new Set(read.map(({path}) => path.split('/')[0]));
    if (tops.size === 1 && read[0].path.includes('/')) read.unshift({path: '.raygate', data: new Uint8Array()});
    blob = archiveOf(read);
  }
  if (blob.size > maxPackage) throw new Error(`The package has ${Math.ceil(blob.size / 2 ** 20)} MiB; at most 100 MiB are possible.`);
  if (!crypto.subtle) throw new Error('Browsers compute the name of a package only for pages by HTTPS or of this machine.');
  const sum = new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer()));
  return {name: `_ray_pkg_${[...sum].map((byte) => byte.toString(16).padStart(2, '0')).join('')}.zip`, blob};
}

// withWorkingDir adds the URI of a package to a runtime environment, YAML or JSON.
export function withWorkingDir(runtimeEnv, uri) {
  const text = runtimeEnv.trim();
  if (/^\s*["']?working_dir["']?\s*:/m.test(text) || /[{,]\s*["']working_dir["']\s*:/.test(text)) throw new Error('The runtime environment names a working_dir already. Leave it out, or the files.');
  if (!text.startsWith('{')) return `${text === '' ? '' : text + '\n'}working_dir: ${JSON.stringify(uri)}\n`;
  try {
    return JSON.stringify({...JSON.parse(text), working_dir: uri});
  } catch {
    throw new Error('The runtime environment begins with { and is no JSON. Write it as YAML in lines, or as JSON.');
  }
}
