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

import { describe, expect, it } from 'vitest';
import {
  byName,
  Condition,
  Decision,
  fleetLook,
  groupPods,
  ownPods,
  PodData,
  podLook,
  PodManagerData,
  rank,
  revisionsOf,
  rollout,
  sentence,
} from './fleet';

const now = new Date('2026-01-01T12:00:00Z');

function condition(type: string, status: string, message = ''): Condition {
  return { type, status, message };
}

function podManager(
  conditions: Condition[] = [],
  changes: Partial<PodManagerData> = {}
): PodManagerData {
  return {
    metadata: { name: 'web', namespace: 'shop', uid: 'u1', generation: 2 },
    spec: { replicas: 3 },
    status: { observedGeneration: 2, updatedReplicas: 1, availableReplicas: 3, conditions },
    ...changes,
  };
}

function pod(
  name: string,
  status: PodData['status'] = {},
  changes: Partial<PodData> = {}
): PodData {
  return {
    metadata: {
      name,
      namespace: 'shop',
      labels: { 'podmanager-uid': 'u1', 'apps.mycompany.com/revision': 'web-a' },
    },
    spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'nginx:1.27' }] },
    status,
    ...changes,
  };
}

describe('fleetLook', () => {
  const cannot = '2 of 3 pods cannot be scheduled: 0/3 nodes are available';
  const cases: [string, PodManagerData, string, string][] = [
    [
      'ready',
      podManager([condition('Ready', 'True', 'all pods are available')]),
      'success',
      'all pods are available',
    ],
    ['ready without a message', podManager([condition('Ready', 'True')]), 'success', 'ready'],
    [
      'not ready, enough pods serve',
      podManager([condition('Ready', 'False', cannot), condition('Available', 'True')]),
      'warning',
      cannot,
    ],
    [
      'not ready, too few serve',
      podManager([condition('Ready', 'False', cannot), condition('Available', 'False')]),
      'error',
      cannot,
    ],
    [
      'stalled',
      podManager([condition('Ready', 'False', 'no'), condition('Stalled', 'True', 'quota')]),
      'error',
      'quota',
    ],
    [
      'no status',
      podManager([], { status: undefined }),
      'warning',
      'the operator has not seen the newest change',
    ],
    [
      'deleted',
      podManager([condition('Ready', 'True')], {
        metadata: { name: 'web', deletionTimestamp: '2026-01-01T11:00:00Z' },
      }),
      'warning',
      'being deleted',
    ],
  ];
  it.each(cases)('%s', (_, pm, state, text) => {
    expect(fleetLook(pm)).toEqual({ state, text });
  });

  it('puts trouble first', () => {
    const trouble = podManager([condition('Stalled', 'True')]);
    const ready = podManager([condition('Ready', 'True')]);
    expect([ready, trouble].sort((a, b) => rank(a) - rank(b))).toEqual([trouble, ready]);
  });
});

describe('podLook', () => {
  const ready = (seconds: number) => ({
    phase: 'Running',
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        lastTransitionTime: new Date(now.getTime() - seconds * 1000).toISOString(),
      },
    ],
  });
  const waiting = (reason: string, message?: string) => ({
    phase: 'Pending',
    containerStatuses: [{ name: 'app', state: { waiting: { reason, message } } }],
  });
  const unscheduled = pod(
    'web-0',
    {
      phase: 'Pending',
      conditions: [{ type: 'PodScheduled', status: 'False', message: '0/3 nodes are available' }],
    },
    { spec: { containers: [] } }
  );
  const terminating = pod('web-0', ready(60), {
    metadata: { name: 'web-0', deletionTimestamp: '2026-01-01T11:59:00Z' },
  });
  const cases: [string, PodData, string, string][] = [
    ['ready', pod('web-0', ready(60)), 'success', 'ready'],
    ['ready and not yet available', pod('web-0', ready(8)), 'warning', 'ready, available in 2 s'],
    ['terminating', terminating, 'warning', 'terminating'],
    ['unschedulable', unscheduled, 'error', 'cannot be scheduled: 0/3 nodes are available'],
    [
      'no image',
      pod('web-0', waiting('ImagePullBackOff', 'no such host')),
      'error',
      'app: ImagePullBackOff: no such host',
    ],
    ['crashing', pod('web-0', waiting('CrashLoopBackOff')), 'error', 'app: CrashLoopBackOff'],
    ['starting', pod('web-0', waiting('ContainerCreating')), 'warning', 'starting'],
    ['not ready', pod('web-0', { phase: 'Running' }), 'warning', 'running, not ready'],
    ['evicted', pod('web-0', { phase: 'Failed', reason: 'Evicted' }), 'error', 'failed: Evicted'],
    ['finished', pod('web-0', { phase: 'Succeeded' }), 'error', 'finished'],
  ];
  it.each(cases)('%s', (_, p, state, text) => {
    expect(podLook(p, 10, now)).toEqual({ state, text });
  });

  it('counts anew for a container that restarted in place', () => {
    const status = {
      ...ready(600),
      containerStatuses: [
        { name: 'app', state: { running: { startedAt: '2026-01-01T11:59:57Z' } } },
      ],
    };
    expect(podLook(pod('web-0', status), 10, now).text).toBe('ready, available in 7 s');
  });
});

describe('pods', () => {
  it('sorts numbers as numbers', () => {
    expect([pod('web-10'), pod('web-9')].sort(byName).map(p => p.metadata.name)).toEqual([
      'web-9',
      'web-10',
    ]);
  });

  it('leaves out pods of others', () => {
    const other = pod(
      'web-1',
      {},
      { metadata: { name: 'web-1', namespace: 'shop', labels: { 'podmanager-uid': 'u2' } } }
    );
    const elsewhere = pod(
      'web-2',
      {},
      { metadata: { name: 'web-2', namespace: 'bank', labels: { 'podmanager-uid': 'u1' } } }
    );
    expect(
      ownPods(podManager(), [other, elsewhere, pod('web-0')]).map(p => p.metadata.name)
    ).toEqual(['web-0']);
  });

  it('groups by node', () => {
    const pending = pod('web-1', {}, { spec: { containers: [] } });
    expect(groupPods([pod('web-0'), pending], 'node').map(g => [g.name, g.pods.length])).toEqual([
      ['no node yet', 1],
      ['node-1', 1],
    ]);
  });

  it('groups by revision and by zone', () => {
    expect(groupPods([pod('web-0')], 'revision')[0].name).toBe('web-a');
    expect(groupPods([pod('web-0')], 'zone')[0].name).toBe('no zone');
  });
});

describe('revisionsOf', () => {
  const revision = (name: string, number: number, image: string) => ({
    metadata: { name, namespace: 'shop', labels: { 'podmanager-uid': 'u1' } },
    revision: number,
    data: { spec: { template: { spec: { containers: [{ name: 'app', image }] } } } },
  });

  it('says what each is, the newest first', () => {
    const pm = podManager([], { status: { currentRevision: 'web-a', updateRevision: 'web-b' } });
    const list = [revision('web-a', 1, 'nginx:1.27'), revision('web-b', 2, 'nginx:1.28')];
    expect(revisionsOf(pm, list, [pod('web-0')])).toEqual([
      { name: 'web-b', number: 2, images: 'nginx:1.28', pods: 0, role: 'pods move to it' },
      { name: 'web-a', number: 1, images: 'nginx:1.27', pods: 1, role: 'pods come from it' },
    ]);
  });
});

describe('sentences', () => {
  it('tells a rollout', () => {
    expect(rollout(podManager())).toBe('1 of 3 pods are up to date, 3 are available');
    expect(rollout(podManager([], { spec: { replicas: 3, paused: true } }))).toContain('; paused');
  });

  const decision: Decision = {
    time: '',
    action: 'Updated',
    count: 2,
    pods: ['web-0', 'web-1'],
    reason: 'RolloutInPlace',
  };
  it('tells a decision', () => {
    expect(sentence({ ...decision, message: 'in place: image of app' })).toBe(
      'Updated web-0, web-1 (RolloutInPlace): in place: image of app'
    );
    expect(sentence({ ...decision, count: 12 })).toBe(
      'Updated web-0, web-1 and 10 more (RolloutInPlace)'
    );
    expect(sentence({ ...decision, count: 1, pods: [] })).toBe('Updated 1 pod (RolloutInPlace)');
  });
});
