// The tabs, pages and actions of the console by name. Others are not offered.
import {Create} from '../pages/create.js';
import {Edit} from '../pages/edit.js';
import {Past, PastTab} from '../pages/past.js';
import {Submit} from '../pages/submit.js';
import {Usage} from '../pages/usage.js';
import {Logs} from './logs.js';
import {Submissions} from './submissions.js';
import {Upgrade} from './upgrade.js';

export {Actions} from './actions.js';

// tabs are components with {kind, object, rights}, by the ids of the tabs in lib/kinds.js: logs, past, submissions, upgrade.
export const tabs = {logs: Logs, past: PastTab, submissions: Submissions, upgrade: Upgrade};

// pages are components with {route}, by the first part of their path: create, past, submit and usage, and edit for /ui/namespaces/NS/KINDS/NAME/edit, with {kind,
// namespace, name}.
export const pages = {create: Create, past: Past, submit: Submit, usage: Usage, edit: Edit};
