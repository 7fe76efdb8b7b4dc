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

import { KubeObject, KubeObjectInterface } from '@kinvolk/headlamp-plugin/lib/k8s/cluster';
import { PodManagerData } from './fleet';

export const routes = { list: 'podmanagers', details: 'podmanager' };

export class PodManager extends KubeObject<KubeObjectInterface & PodManagerData> {
  static kind = 'PodManager';
  static apiName = 'podmanagers';
  static apiVersion = 'apps.mycompany.com/v1';
  static isNamespaced = true;

  static get detailsRoute() {
    return routes.details;
  }
}
