// Addresses of views: every view has one, in the part of the URL behind #, which
// the browser does not send anywhere. Pure.

import { wordOf } from './severity.js';

// parse reads /RESOURCE/NAMESPACE/NAME?KEY=VALUE, or only KEY=VALUE. Without a name
// it is the overview.
export function parse(hash) {
  const text = hash.replace(/^#/, '');
  const at = text.startsWith('/') ? text.indexOf('?') : -1;
  const path = text.startsWith('/') ? text.slice(0, at < 0 ? undefined : at) : '';
  const query = text.startsWith('/') ? (at < 0 ? '' : text.slice(at + 1)) : text;
  const [resource = '', namespace = '', name = ''] = path.split('/').slice(1).map(decoded);
  const params = Object.fromEntries(new URLSearchParams(query));
  return name ? { resource, namespace, name, params } : { resource: '', namespace: '', name: '', params };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // typed by hand
  }
}

// format writes an address. Empty values are left out.
export function format({ resource, namespace, name, params = {} }) {
  const path = name ? `/${[resource, namespace, name].map(encodeURIComponent).join('/')}` : '/';
  const query = new URLSearchParams(Object.entries(params).filter(([, value]) => value)).toString();
  return `#${path}${query ? `?${query}` : ''}`;
}

// titleOf is the title of a view. fleet is what is known of its object.
export function titleOf(route, fleet) {
  if (!route.name) return `${route.params.namespace ? `${route.params.namespace}: ` : ''}fleets · pod-operator`;
  const state = fleet ? `: ${wordOf(fleet)}` : '';
  return `${route.params.pod || route.name}${state} · ${route.namespace} · pod-operator`;
}
