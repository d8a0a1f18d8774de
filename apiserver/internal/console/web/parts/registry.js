// What pages take from the parts of the console, by name. A tab or a page that is not here is not offered.

// tabs are components with {kind, object, rights}, by the ids of the tabs in lib/kinds.js: logs, upgrade, submissions.
export const tabs = {};

// Actions are the buttons of an object, with {kind, object, rights}; null for none.
export const Actions = null;

// pages are components with {route}, by the first part of their path: create and submit, and edit for /ui/namespaces/NS/KINDS/NAME/edit, with {kind,
// namespace, name}.
export const pages = {};
