// What the page knows, shared by its views.

import { parse } from './route.js';

export const page = {
  token: sessionStorage.getItem('token') || '',
  route: parse(''),
  fleets: [], // of all kinds
  hidden: [], // kinds that the viewer may not list
  detail: null, // of the fleet that is open
  rights: null, // what the viewer may do with it
  records: new Map(), // by id
  tiles: new Map(), // by pod name
  stream: null,
  streaming: '', // whose records come in
  timer: 0,
  cost: 0, // ms that the last refresh took of this tab
  drawing: 0,
  seen: 0, // when anything last came from the operator
  due: 0, // since when a refresh waits for its answer
  open: false, // the stream is
  attempt: null, // ends the connection of the stream
};

// What is recorded is recorded by kind.
export const recorded = { podmanagers: 'PodManager', imoocpods: 'ImoocPod' };

// keyOf tells fleets apart: RESOURCE/NAMESPACE/NAME.
export const keyOf = (f) => `${f.resource}/${f.namespace}/${f.name}`;
export const pathOf = (f) => `api/fleets/${[f.resource, f.namespace, f.name].map(encodeURIComponent).join('/')}`;
