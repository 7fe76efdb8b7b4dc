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

import { ResourceListView, StatusLabel } from '@kinvolk/headlamp-plugin/lib/CommonComponents';
import { desired, fleetLook, rank } from './fleet';
import { PodManager } from './podmanager';

/** FleetList shows all fleets, those in trouble first. */
export function FleetList() {
  return (
    <ResourceListView
      title="Fleets"
      resourceClass={PodManager}
      defaultSortingColumn={{ id: 'state', desc: false }}
      columns={[
        'name',
        'namespace',
        {
          id: 'state',
          label: 'State',
          gridTemplate: 'auto',
          getValue: (pm: PodManager) => `${rank(pm.jsonData)} ${fleetLook(pm.jsonData).text}`,
          render: (pm: PodManager) => {
            const look = fleetLook(pm.jsonData);
            return <StatusLabel status={look.state}>{look.text}</StatusLabel>;
          },
        },
        {
          id: 'available',
          label: 'Available',
          getValue: (pm: PodManager) => pm.jsonData.status?.availableReplicas ?? 0,
          render: (pm: PodManager) =>
            `${pm.jsonData.status?.availableReplicas ?? 0} of ${desired(pm.jsonData)}`,
        },
        {
          id: 'updated',
          label: 'Up to date',
          getValue: (pm: PodManager) => pm.jsonData.status?.updatedReplicas ?? 0,
        },
        'age',
      ]}
    />
  );
}
