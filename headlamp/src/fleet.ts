/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

// What the views show, computed from the objects of the API server alone. Nothing
// here knows Headlamp or React.

/** The parts of metadata that the views read. */
export interface Meta {
  name: string;
  namespace?: string;
  uid?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

export interface Container {
  name: string;
  image?: string;
}

/** Decision is an entry of status.history. */
export interface Decision {
  time: string;
  revision?: string;
  action: string;
  count: number;
  pods?: string[];
  reason: string;
  message?: string;
}

export interface PodManagerSpec {
  replicas?: number;
  paused?: boolean;
  minReadySeconds?: number;
  update?: { strategy?: string };
}

export interface PodManagerStatus {
  observedGeneration?: number;
  availableReplicas?: number;
  updatedReplicas?: number;
  terminatingReplicas?: number;
  currentRevision?: string;
  updateRevision?: string;
  conditions?: Condition[];
  history?: Decision[];
  held?: { pod: string; from: string; by?: string }[];
  rollback?: { from: string; to: string; time: string; message?: string };
}

export interface PodManagerData {
  metadata: Meta;
  spec: PodManagerSpec;
  status?: PodManagerStatus;
}

interface ContainerStatus {
  name: string;
  ready?: boolean;
  restartCount?: number;
  state?: { waiting?: { reason?: string; message?: string }; running?: { startedAt?: string } };
}

export interface PodData {
  metadata: Meta;
  spec: { nodeName?: string; containers: Container[] };
  status?: {
    phase?: string;
    reason?: string;
    conditions?: Condition[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

export interface RevisionData {
  metadata: Meta;
  revision: number;
  data?: unknown;
}

/** A Look is how something is: the colour, and the words beside it. */
export interface Look {
  state: 'success' | 'warning' | 'error' | '';
  text: string;
}

export const labels = {
  owner: 'podmanager-uid',
  revision: 'apps.mycompany.com/revision',
  zone: 'topology.kubernetes.io/zone',
};

const replicasByDefault = 3;

export function desired(pm: PodManagerData): number {
  return pm.spec.replicas ?? replicasByDefault;
}

function condition(list: Condition[] | undefined, type: string): Condition | undefined {
  return list?.find(c => c.type === type);
}

function isTrue(list: Condition[] | undefined, type: string): boolean {
  return condition(list, type)?.status === 'True';
}

/** fleetLook is the state of a PodManager, with what keeps it from being ready. */
export function fleetLook(pm: PodManagerData): Look {
  const status = pm.status ?? {};
  const said = (type: string) => condition(status.conditions, type)?.message;
  if (pm.metadata.deletionTimestamp) {
    return { state: 'warning', text: 'being deleted' };
  }
  if ((status.observedGeneration ?? -1) < (pm.metadata.generation ?? 0)) {
    return { state: 'warning', text: 'the operator has not seen the newest change' };
  }
  if (isTrue(status.conditions, 'Stalled')) {
    return { state: 'error', text: said('Stalled') || 'stalled' };
  }
  if (isTrue(status.conditions, 'Ready')) {
    return { state: 'success', text: said('Ready') || 'ready' };
  }
  const text = said('Ready') || said('Reconciling') || 'not ready';
  return { state: isTrue(status.conditions, 'Available') ? 'warning' : 'error', text };
}

/** rank puts trouble first, then what changes, then what is ready. */
export function rank(pm: PodManagerData): number {
  return ['error', 'warning', 'success'].indexOf(fleetLook(pm).state);
}

/** podLook is the state of a pod, with its cause. */
export function podLook(pod: PodData, minReadySeconds: number, now: Date): Look {
  const status = pod.status ?? {};
  if (pod.metadata.deletionTimestamp) {
    return { state: 'warning', text: 'terminating' };
  }
  if (status.phase === 'Failed' || status.phase === 'Succeeded') {
    const word = status.phase === 'Failed' ? 'failed' : 'finished';
    return { state: 'error', text: status.reason ? `${word}: ${status.reason}` : word };
  }
  const scheduled = condition(status.conditions, 'PodScheduled');
  if (!pod.spec.nodeName && scheduled?.status === 'False') {
    return {
      state: 'error',
      text: `cannot be scheduled: ${scheduled.message || scheduled.reason || 'no reason given'}`,
    };
  }
  const waiting = waitingContainer(pod);
  if (waiting) {
    return { state: 'error', text: waiting };
  }
  const ready = condition(status.conditions, 'Ready');
  if (ready?.status !== 'True') {
    return {
      state: 'warning',
      text: status.phase === 'Running' ? 'running, not ready' : 'starting',
    };
  }
  const left = availableIn(pod, minReadySeconds, now);
  return left > 0
    ? { state: 'warning', text: `ready, available in ${left} s` }
    : { state: 'success', text: 'ready' };
}

/** passing are the reasons of containers that every pod goes through. */
const passing = ['ContainerCreating', 'PodInitializing'];

function waitingContainer(pod: PodData): string {
  const all = [
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.containerStatuses ?? []),
  ];
  for (const c of all) {
    const w = c.state?.waiting;
    if (w?.reason && !passing.includes(w.reason)) {
      return w.message ? `${c.name}: ${w.reason}: ${w.message}` : `${c.name}: ${w.reason}`;
    }
  }
  return '';
}

/** availableIn is how many seconds a ready pod has to stay so; containers that
 * restart in place begin anew. */
function availableIn(pod: PodData, minReadySeconds: number, now: Date): number {
  const since = [condition(pod.status?.conditions, 'Ready')?.lastTransitionTime]
    .concat((pod.status?.containerStatuses ?? []).map(c => c.state?.running?.startedAt))
    .map(t => (t ? Date.parse(t) : 0));
  return Math.ceil((Math.max(...since) + minReadySeconds * 1000 - now.getTime()) / 1000);
}

export function restarts(pod: PodData): number {
  return (pod.status?.containerStatuses ?? []).reduce((sum, c) => sum + (c.restartCount ?? 0), 0);
}

export function images(pod: PodData): string {
  return pod.spec.containers.map(c => c.image ?? '').join(', ');
}

/** byName sorts numbers as numbers: web-9 before web-10. */
export function byName(a: { metadata: Meta }, b: { metadata: Meta }): number {
  return a.metadata.name.localeCompare(b.metadata.name, 'en', { numeric: true });
}

/** ownPods are the pods of a PodManager, sorted by name. */
export function ownPods<P extends { metadata: Meta }>(pm: PodManagerData, pods: P[]): P[] {
  const own = (p: P) =>
    p.metadata.namespace === pm.metadata.namespace &&
    p.metadata.labels?.[labels.owner] === pm.metadata.uid;
  return pods.filter(own).sort(byName);
}

export type Grouping = 'revision' | 'node' | 'zone';

/** groupPods sorts pods into groups with names. */
export function groupPods<P extends PodData>(
  pods: P[],
  by: Grouping
): { name: string; pods: P[] }[] {
  const groups = new Map<string, P[]>();
  for (const pod of pods) {
    const name = groupOf(pod, by);
    groups.set(name, [...(groups.get(name) ?? []), pod]);
  }
  return [...groups]
    .map(([name, members]) => ({ name, pods: members }))
    .sort((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }));
}

function groupOf(pod: PodData, by: Grouping): string {
  switch (by) {
    case 'revision':
      return pod.metadata.labels?.[labels.revision] ?? 'no revision';
    case 'node':
      return pod.spec.nodeName ?? 'no node yet';
    case 'zone':
      return pod.metadata.labels?.[labels.zone] ?? 'no zone';
  }
}

/** Revision is a stored template and how many pods are on it. */
export interface Revision {
  name: string;
  number: number;
  images: string;
  pods: number;
  /** what it is for the PodManager: the goal of a rollout, or what it comes from. */
  role: string;
}

/** revisionsOf lists the revisions of a PodManager, the newest first. */
export function revisionsOf(
  pm: PodManagerData,
  revisions: RevisionData[],
  pods: PodData[]
): Revision[] {
  return revisions
    .filter(
      r =>
        r.metadata.namespace === pm.metadata.namespace &&
        r.metadata.labels?.[labels.owner] === pm.metadata.uid
    )
    .map(r => ({
      name: r.metadata.name,
      number: r.revision,
      images: imagesIn(r.data),
      pods: pods.filter(p => p.metadata.labels?.[labels.revision] === r.metadata.name).length,
      role: roleOf(pm, r.metadata.name),
    }))
    .sort((a, b) => b.number - a.number);
}

function roleOf(pm: PodManagerData, revision: string): string {
  const { currentRevision, updateRevision } = pm.status ?? {};
  if (revision === updateRevision) {
    return currentRevision === updateRevision ? 'in use' : 'pods move to it';
  }
  return revision === currentRevision ? 'pods come from it' : '';
}

/** imagesIn finds the images of the containers in a stored template, wherever it lies. */
function imagesIn(data: unknown): string {
  const containers = find(data, 'containers');
  if (!Array.isArray(containers)) {
    return '';
  }
  return containers.map((c: Container) => c.image ?? '').join(', ');
}

function find(data: unknown, key: string): unknown {
  if (data === null || typeof data !== 'object') {
    return undefined;
  }
  const fields = data as Record<string, unknown>;
  if (key in fields) {
    return fields[key];
  }
  return Object.values(fields)
    .map(value => find(value, key))
    .find(found => found !== undefined);
}

/** rollout is how far the pods have come, as a sentence. */
export function rollout(pm: PodManagerData): string {
  const s = pm.status ?? {};
  const text = `${s.updatedReplicas ?? 0} of ${desired(pm)} pods are up to date, ${
    s.availableReplicas ?? 0
  } are available`;
  if (pm.spec.paused) {
    return `${text}; paused`;
  }
  return s.terminatingReplicas ? `${text}, ${s.terminatingReplicas} are terminating` : text;
}

/** sentence tells an entry of the history. */
export function sentence(d: Decision): string {
  const listed = (d.pods ?? []).join(', ');
  const more = d.count - (d.pods ?? []).length;
  const names = more > 0 && listed ? `${listed} and ${more} more` : listed;
  const what = names
    ? `${d.action} ${names}`
    : `${d.action} ${d.count} ${d.count === 1 ? 'pod' : 'pods'}`;
  return `${what} (${d.reason})${d.message ? `: ${d.message}` : ''}`;
}
