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

import { K8s } from '@kinvolk/headlamp-plugin/lib';
import {
  ConditionsTable,
  DateLabel,
  DetailsGrid,
  Link,
  SectionBox,
  SimpleTable,
  StatusLabel,
} from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { MenuItem, Select } from '@mui/material';
import { useState } from 'react';
import { useParams } from 'react-router-dom';
import {
  Decision,
  fleetLook,
  Grouping,
  groupPods,
  images,
  ownPods,
  PodData,
  podLook,
  PodManagerData,
  restarts,
  Revision,
  revisionsOf,
  rollout,
  sentence,
} from './fleet';
import { PodManager } from './podmanager';

const { ControllerRevision, Pod } = K8s.ResourceClasses;

/** FleetView shows one fleet: its state and cause, the rollout, revisions, pods and history. */
export function FleetView() {
  const { namespace, name } = useParams<{ namespace: string; name: string }>();
  return (
    <DetailsGrid
      resourceType={PodManager}
      name={name}
      namespace={namespace}
      withEvents
      extraInfo={(pm: PodManager | null) => pm && info(pm.jsonData)}
      extraSections={(pm: PodManager) =>
        pm && [
          { id: 'fleet', section: <Fleet pm={pm.jsonData} /> },
          { id: 'conditions', section: <Conditions pm={pm} /> },
          { id: 'history', section: <History decisions={pm.jsonData.status?.history ?? []} /> },
        ]
      }
    />
  );
}

function info(pm: PodManagerData) {
  const look = fleetLook(pm);
  const update = pm.spec.update ?? {};
  const held = (pm.status?.held ?? []).map(
    h => `${h.pod} from ${h.from}${h.by ? ` by ${h.by}` : ''}`
  );
  return [
    { name: 'State', value: <StatusLabel status={look.state}>{look.text}</StatusLabel> },
    { name: 'Rollout', value: rollout(pm) },
    { name: 'Strategy', value: update.strategy ?? '', hide: !update.strategy },
    { name: 'Rolled back', value: pm.status?.rollback?.message ?? '', hide: !pm.status?.rollback },
    { name: 'Held', value: held.join(', '), hide: held.length === 0 },
  ];
}

/** Fleet shows revisions and pods. Both come from one list of pods, so they agree. */
function Fleet({ pm }: { pm: PodManagerData }) {
  const namespace = pm.metadata.namespace;
  const [pods] = Pod.useList({ namespace });
  const [revisions] = ControllerRevision.useList({ namespace });
  const own = ownPods(
    pm,
    (pods ?? []).map(p => p.jsonData as unknown as PodData)
  );
  const stored = (revisions ?? []).map(r => r.jsonData);
  return (
    <>
      <Revisions revisions={revisionsOf(pm, stored, own)} />
      <Pods pods={own} minReadySeconds={pm.spec.minReadySeconds ?? 0} />
    </>
  );
}

function Revisions({ revisions }: { revisions: Revision[] }) {
  return (
    <SectionBox title="Revisions">
      <SimpleTable
        data={revisions}
        columns={[
          { label: 'Number', datum: 'number' },
          { label: 'Name', datum: 'name' },
          { label: 'Images', datum: 'images' },
          { label: 'Pods', datum: 'pods' },
          { label: '', datum: 'role' },
        ]}
      />
    </SectionBox>
  );
}

function Pods({ pods, minReadySeconds }: { pods: PodData[]; minReadySeconds: number }) {
  const [by, setBy] = useState<Grouping>('revision');
  const now = new Date();
  return (
    <SectionBox title="Pods">
      <Select
        size="small"
        value={by}
        onChange={e => setBy(e.target.value as Grouping)}
        inputProps={{ 'aria-label': 'Group pods by' }}
      >
        <MenuItem value="revision">by revision</MenuItem>
        <MenuItem value="node">by node</MenuItem>
        <MenuItem value="zone">by zone</MenuItem>
      </Select>
      {groupPods(pods, by).map(group => (
        <SectionBox
          key={group.name}
          title={`${group.name}: ${group.pods.length}`}
          headerProps={{ headerStyle: 'label' }}
        >
          <SimpleTable
            data={group.pods}
            columns={[
              { label: 'Name', getter: (p: PodData) => <PodLink pod={p} /> },
              {
                label: 'State',
                getter: (p: PodData) => {
                  const look = podLook(p, minReadySeconds, now);
                  return <StatusLabel status={look.state}>{look.text}</StatusLabel>;
                },
              },
              { label: 'Images', getter: images },
              { label: 'Node', getter: (p: PodData) => p.spec.nodeName ?? '' },
              { label: 'Restarts', getter: restarts },
              {
                label: 'Age',
                getter: (p: PodData) =>
                  p.metadata.creationTimestamp && (
                    <DateLabel date={p.metadata.creationTimestamp} format="mini" />
                  ),
              },
            ]}
          />
        </SectionBox>
      ))}
    </SectionBox>
  );
}

function PodLink({ pod }: { pod: PodData }) {
  return (
    <Link
      routeName="pod"
      params={{ namespace: pod.metadata.namespace ?? '', name: pod.metadata.name }}
    >
      {pod.metadata.name}
    </Link>
  );
}

function Conditions({ pm }: { pm: PodManager }) {
  return (
    <SectionBox title="Conditions">
      <ConditionsTable resource={pm.jsonData} />
    </SectionBox>
  );
}

/** History tells the last decisions, the newest first. */
function History({ decisions }: { decisions: Decision[] }) {
  return (
    <SectionBox title="History">
      <SimpleTable
        data={decisions}
        emptyMessage="No pod was touched yet."
        columns={[
          { label: 'When', getter: (d: Decision) => <DateLabel date={d.time} /> },
          { label: 'What and why', getter: sentence },
        ]}
      />
    </SectionBox>
  );
}
