// What the page knows, shared by its views.

export const page = {
  token: sessionStorage.getItem('token') || '',
  fleets: [],
  chosen: sessionStorage.getItem('chosen') || '', // namespace/name
  detail: null,
  records: new Map(), // by id
  tiles: new Map(), // by pod name
  stream: null,
  streaming: '', // whose records come in
  timer: 0,
  cost: 0, // ms that the last refresh took of this tab
  drawing: 0,
};

export const keyOf = (f) => `${f.namespace}/${f.name}`;
export const pathOf = (key) => `api/podmanagers/${key.split('/').map(encodeURIComponent).join('/')}`;
