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

import { registerRoute, registerSidebarEntry } from '@kinvolk/headlamp-plugin/lib';
import { FleetList } from './FleetList';
import { FleetView } from './FleetView';
import { routes } from './podmanager';

const url = '/podmanagers';

registerSidebarEntry({ parent: 'workloads', name: routes.list, label: 'Fleets', url });

registerRoute({
  path: url,
  sidebar: routes.list,
  name: routes.list,
  exact: true,
  component: FleetList,
});

registerRoute({
  path: `${url}/:namespace/:name`,
  sidebar: routes.list,
  name: routes.details,
  exact: true,
  component: FleetView,
});
