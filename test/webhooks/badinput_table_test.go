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

package webhooks

const (
	// tried is what the API server puts before what the trial of a pod found.
	tried = `admission webhook "validate.v1.podmanager.apps.mycompany.com" denied the request: `
	// read is the same of Collectors.
	read = `admission webhook "validate.v1.collector.collector.ip.mycompany.com" denied the request: `
	// unchecked is what it adds where a value is of the wrong shape.
	unchecked = `, <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation]`
	noLabel   = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`
)

// badInputs are by what is wrong with them.
func badInputs() map[string]badInput {
	return map[string]badInput{
		// Wrong types.
		"replicas is text": {
			gvk: podManager, spec: `{image: nginx, replicas: three}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: three is of the type string, expected int64` + unchecked,
		},
		"replicas is half a pod": {
			gvk: podManager, spec: `{image: nginx, replicas: 1.5}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.replicas: Invalid value: "float64": spec.replicas in body must be of type int32: "float64", <nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.replicas, .spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1.5 is of the type float64, expected int64` + unchecked,
		},
		"image is a number": {
			gvk: podManager, spec: `{image: 127}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.image: Invalid value: "integer": spec.image in body must be of type string: "integer"` + unchecked,
		},
		"image is a list": {
			gvk: podManager, spec: `{image: [nginx]}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.image: Invalid value: "array": spec.image in body must be of type string: "array"` + unchecked,
		},
		"template is text": {
			gvk: podManager, spec: `{template: nginx}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.template: Invalid value: "string": spec.template in body must be of type object: "string"` + unchecked,
		},
		"paused is text": {
			gvk: podManager, spec: `{image: nginx, paused: "yes"}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.paused: Invalid value: "string": spec.paused in body must be of type boolean: "string"` + unchecked,
		},
		"containers is no list": {
			gvk: podManager, spec: `{template: {spec: {containers: {name: app}}}}`,
			want: `PodManager in version "v1" cannot be handled as a PodManager: strict decoding error: unknown field "spec.template.spec.containers.name"`,
		},

		// Empty and missing.
		"no spec": {
			gvk:  podManager,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec: Required value` + unchecked,
		},
		"neither image nor template": {
			gvk: podManager, spec: `{replicas: 1}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec: Invalid value: set image, or template with at least one container`,
		},
		"an empty image": {
			gvk: podManager, spec: `{image: ""}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.image: Invalid value: "": spec.image in body should be at least 1 chars long`,
		},
		"an image of spaces": {
			gvk: podManager, spec: `{image: "  "}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.image: Invalid value: "  ": image must not begin or end with a space`,
		},
		"an image that ends with a space": {
			gvk: podManager, spec: `{image: "nginx "}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.image: Invalid value: "nginx ": image must not begin or end with a space`,
		},
		"a template without containers": {
			gvk: podManager, spec: `{template: {spec: {containers: []}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec: Invalid value: template has no container: add one under template.spec.containers, or set image`,
		},
		"a template with nothing but labels": {
			gvk: podManager, spec: `{template: {metadata: {labels: {app: web}}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec: Invalid value: template has no container: add one under template.spec.containers, or set image`,
		},
		"a container without an image": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: web}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].image: Required value`,
		},
		"a container without a name": {
			gvk: podManager, spec: `{template: {spec: {containers: [{image: nginx}]}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.template.spec.containers[0].name: Required value` + unchecked,
		},

		// Numbers.
		"replicas below 0": {
			gvk: podManager, spec: `{image: nginx, replicas: -1}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, .spec.replicas: Invalid value: -1: should be a non-negative integer]`,
		},
		"replicas beyond any cluster": {
			gvk: podManager, spec: `{image: nginx, replicas: 1000000}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.replicas: Invalid value: 1000000: spec.replicas in body should be less than or equal to 100000`,
		},
		"replicas beyond 32 bits": {
			gvk: podManager, spec: `{image: nginx, replicas: 3000000000}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.replicas, spec.replicas: Invalid value: 3000000000: spec.replicas in body should be less than or equal to 100000, .spec.replicas: Invalid value: 3000000000: should be less than or equal to 2147483647]`,
		},
		"minReadySeconds below 0": {
			gvk: podManager, spec: `{image: nginx, minReadySeconds: -1}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.minReadySeconds: Invalid value: -1: spec.minReadySeconds in body should be greater than or equal to 0`,
		},
		"revisionHistoryLimit below 0": {
			gvk: podManager, spec: `{image: nginx, revisionHistoryLimit: -1}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.revisionHistoryLimit: Invalid value: -1: spec.revisionHistoryLimit in body should be greater than or equal to 0`,
		},
		"a thousand failed pods": {
			gvk: podManager, spec: `{image: nginx, failedPods: {limit: 1000}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.failedPods.limit: Invalid value: 1000: spec.failedPods.limit in body should be less than or equal to 100`,
		},
		"a backoff that is no duration": {
			gvk: podManager, spec: `{image: nginx, failedPods: {backoff: {initial: soon}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.failedPods.backoff.initial: Invalid value: "soon": spec.failedPods.backoff.initial in body should match '^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,5}(\.[0-9]{1,9})?(m|h))+$'`,
		},
		"a longest backoff that is no duration": {
			gvk: podManager, spec: `{image: nginx, failedPods: {backoff: {max: "300"}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.failedPods.backoff.max: Invalid value: "300": spec.failedPods.backoff.max in body should match '^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,5}(\.[0-9]{1,9})?(m|h))+$'`,
		},
		"a backoff that begins above its end": {
			gvk: podManager, spec: `{image: nginx, failedPods: {backoff: {initial: 10m, max: 1m}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.failedPods.backoff: Invalid value: backoff.initial must not be longer than backoff.max`,
		},
		"a backoff of days": {
			gvk: podManager, spec: `{image: nginx, failedPods: {backoff: {max: 48h}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.failedPods.backoff.max: Invalid value: "48h": backoff.max must be at most 24h`,
		},
		"a deadline of 0": {
			gvk: podManager, spec: `{image: nginx, update: {progressDeadlineSeconds: 0}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.update.progressDeadlineSeconds: Invalid value: 0: spec.update.progressDeadlineSeconds in body should be greater than or equal to 1, spec: Invalid value: update.progressDeadlineSeconds must be greater than minReadySeconds, or no pod can become available in time]`,
		},

		// Percentages out of range.
		"maxUnavailable above 100%": {
			gvk: podManager, spec: `{image: nginx, update: {maxUnavailable: 150%}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.update.maxUnavailable: Invalid value: "150%": maxUnavailable must be a number from 0 to 100000 or a percentage from 0% to 100%`,
		},
		"maxSurge below 0": {
			gvk: podManager, spec: `{image: nginx, update: {maxSurge: -1}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.update.maxSurge: Invalid value: -1: maxSurge must be a number from 0 to 100000 or a percentage from 0% to 100%`,
		},
		"partition of half a percent": {
			gvk: podManager, spec: `{image: nginx, update: {partition: 0.5%}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.update.partition: Invalid value: "0.5%": partition must be a number from 0 to 100000 or a percentage from 0% to 100%`,
		},
		"maxUnavailable in words": {
			gvk: podManager, spec: `{image: nginx, update: {maxUnavailable: most}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.update.maxUnavailable: Invalid value: "most": maxUnavailable must be a number from 0 to 100000 or a percentage from 0% to 100%`,
		},

		// Words that are none of the choices.
		"an unknown strategy": {
			gvk: podManager, spec: `{image: nginx, update: {strategy: RollingUpdate}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.update.strategy: Unsupported value: "RollingUpdate": supported values: "InPlaceIfPossible", "Recreate", "OnDelete"` + unchecked,
		},
		"an unknown identity": {
			gvk: podManager, spec: `{image: nginx, identity: Sequential}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.identity: Unsupported value: "Sequential": supported values: "Ordinal", "Random"` + unchecked,
		},
		"an unknown deletion policy": {
			gvk: podManager, spec: `{image: nginx, deletion: {policy: Keep}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.deletion.policy: Unsupported value: "Keep": supported values: "Delete", "Orphan"` + unchecked,
		},

		// Unknown fields.
		"a misspelt field": {
			gvk: podManager, spec: `{image: nginx, replica: 3}`,
			want: `PodManager in version "v1" cannot be handled as a PodManager: strict decoding error: unknown field "spec.replica"`,
		},
		"a field of Deployments": {
			gvk: podManager, spec: `{image: nginx, selector: {matchLabels: {app: web}}}`,
			want: `PodManager in version "v1" cannot be handled as a PodManager: strict decoding error: unknown field "spec.selector"`,
		},
		"a misspelt field in the template": {
			gvk: podManager, spec: `{template: {spec: {container: [{name: app, image: nginx}], containers: [{name: app, image: nginx}]}}}`,
			want: `PodManager in version "v1" cannot be handled as a PodManager: strict decoding error: unknown field "spec.template.spec.container"`,
		},

		// Reserved labels, and fields that contradict each other.
		"an annotation that is about one pod": {
			gvk: podManager, spec: `{image: nginx, template: {metadata: {annotations: {apps.mycompany.com/eviction-requested: "2099-01-01T00:00:00Z"}}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.template: Invalid value: the annotations apps.mycompany.com/surge, apps.mycompany.com/in-place, apps.mycompany.com/eviction-requested, apps.mycompany.com/eviction-grace-period, apps.mycompany.com/rebalanced-to and apps.mycompany.com/replaces are about one pod: leave them out of template.metadata.annotations`,
		},
		"a reserved label": {
			gvk: podManager, spec: `{image: nginx, template: {metadata: {labels: {podmanager: mine}}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.template: Invalid value: the labels podmanager, podmanager-uid, apps.mycompany.com/revision, apps.mycompany.com/slot, apps.mycompany.com/delete, apps.mycompany.com/wanted and apps.mycompany.com/shard are set by the operator: leave them out of template.metadata.labels`,
		},
		"image without a container app": {
			gvk: podManager, spec: `{image: nginx, template: {spec: {containers: [{name: web, image: nginx}]}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec: Invalid value: image is the image of the container named app, but the template has no container of that name: name one app, or leave image out`,
		},
		"pods that end": {
			gvk: podManager, spec: `{template: {spec: {restartPolicy: Never, containers: [{name: app, image: nginx}]}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.template: Invalid value: restartPolicy must be Always: a PodManager keeps its pods running`,
		},
		"pods with a deadline": {
			gvk: podManager, spec: `{template: {spec: {activeDeadlineSeconds: 60, containers: [{name: app, image: nginx}]}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.template: Invalid value: activeDeadlineSeconds ends pods that a PodManager has to keep running: leave it out`,
		},
		"claims without ordinals": {
			gvk: podManager, spec: `{image: nginx, identity: Random, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec: Invalid value: volumeClaimTemplates need identity Ordinal, so that a pod finds its claims again`,
		},
		"reserved ordinals without ordinals": {
			gvk: podManager, spec: `{image: nginx, identity: Random, reserveOrdinals: [1]}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec: Invalid value: reserveOrdinals need identity Ordinal`,
		},
		"an ordinal below 0": {
			gvk: podManager, spec: `{image: nginx, reserveOrdinals: [-1]}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.reserveOrdinals[0]: Invalid value: -1: spec.reserveOrdinals[0] in body should be greater than or equal to 0`,
		},

		// What only the trial of the pod finds.
		"a label value with a space": {
			gvk: podManager, spec: `{image: nginx, template: {metadata: {labels: {tier: "front end"}}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.metadata.labels: Invalid value: "front end": ` + noLabel,
		},
		"a label value of 64 characters": {
			gvk: podManager, spec: `{image: nginx, template: {metadata: {labels: {tier: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx}}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.metadata.labels: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 63 bytes`,
		},
		"a label key with two slashes": {
			gvk: podManager, spec: `{image: nginx, template: {metadata: {labels: {a/b/c: x}}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.metadata.labels: Invalid value: "a/b/c": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
		},
		"two containers of one name": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx}, {name: app, image: nginx}]}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[1]: Duplicate value: {"name":"app"}`,
		},
		"a container name in capitals": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: Web, image: nginx}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].name: Invalid value: "Web": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`,
		},
		"a host name with a dot": {
			gvk: podManager, spec: `{template: {spec: {hostname: a.b, containers: [{name: app, image: nginx}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.hostname: Invalid value: "a.b": must not contain dots`,
		},
		"a mount of no volume": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx, volumeMounts: [{name: data, mountPath: /data}]}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].volumeMounts[0].name: Not found: "data"`,
		},
		"a request above its limit": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx, resources: {requests: {cpu: "2"}, limits: {cpu: "1"}}}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1`,
		},
		"a quantity that is none": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx, resources: {limits: {memory: lots}}}]}}}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].resources.limits.memory: Invalid value: "lots": spec.template.spec.containers[0].resources.limits.memory in body should match '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?[0-9]{1,2}))?$'`,
		},
		"a port beyond 65535": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx, ports: [{containerPort: 70000}]}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive`,
		},
		"a probe of two kinds": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx, livenessProbe: {httpGet: {port: 80}, tcpSocket: {port: 80}}}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type`,
		},
		"an environment variable from nowhere and somewhere": {
			gvk: podManager, spec: `{template: {spec: {containers: [{name: app, image: nginx, env: [{name: A, value: x, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]}}}`,
			want: tried + "PodManager.apps.mycompany.com \"bad\" is invalid: spec.template.spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty",
		},
		"a toleration of nothing": {
			gvk: podManager, spec: `{template: {spec: {tolerations: [{operator: Sometimes}], containers: [{name: app, image: nginx}]}}}`,
			want: tried + "PodManager.apps.mycompany.com \"bad\" is invalid: [spec.template.spec.tolerations[0].operator: Invalid value: \"Sometimes\": operator must be Exists when `key` is empty, which means \"match all values and all keys\", spec.template.spec.tolerations[0].operator: Unsupported value: \"Sometimes\": supported values: \"Equal\", \"Exists\"]",
		},
		"a volume of two kinds": {
			gvk: podManager, spec: `{template: {spec: {volumes: [{name: v, emptyDir: {}, hostPath: {path: /}}], containers: [{name: app, image: nginx}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.template.spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type`,
		},
		"two problems at once": {
			gvk: podManager, spec: `{template: {metadata: {labels: {tier: "front end"}}, spec: {dnsPolicy: Sometimes, containers: [{name: app, image: nginx}]}}}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: [spec.template.metadata.labels: Invalid value: "front end": ` + noLabel + `, spec.template.spec.dnsPolicy: Unsupported value: "Sometimes": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"]`,
		},
		"a claim of nothing": {
			gvk: podManager, spec: `{image: nginx, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]}`,
			want: tried + `PodManager.apps.mycompany.com "bad" is invalid: spec.volumeClaimTemplates[0].spec.resources[storage]: Required value`,
		},

		// The older API.
		"v1alpha1: size is text": {
			gvk: oldManager, spec: `{size: two, image: nginx}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"` + unchecked,
		},
		"v1alpha1: size below 0": {
			gvk: oldManager, spec: `{size: -1, image: nginx}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0`,
		},
		"v1alpha1: no image": {
			gvk: oldManager, spec: `{size: 1}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.image: Required value` + unchecked,
		},
		"v1alpha1: an empty image": {
			gvk: oldManager, spec: `{size: 1, image: ""}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: [spec.image: Required value` + unchecked,
		},
		"v1alpha1: a field of v1": {
			gvk: oldManager, spec: `{size: 1, image: nginx, replicas: 1}`,
			want: `PodManager in version "v1alpha1" cannot be handled as a PodManager: strict decoding error: unknown field "spec.replicas"`,
		},
		"v1alpha1: an image that ends with a space": {
			gvk: oldManager, spec: `{size: 1, image: "nginx "}`,
			want: `PodManager.apps.mycompany.com "bad" is invalid: spec.image: Invalid value: "nginx ": image must not begin or end with a space`,
		},

		// The smaller kinds.
		"ImoocPod: replicas below 0": {
			gvk: imoocPod, spec: `{replicas: -1}`,
			want: `ImoocPod.batch.tutorial.kubebuilder.io "bad" is invalid: [spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0, .spec.replicas: Invalid value: -1: should be a non-negative integer]`,
		},
		"ImoocPod: replicas is text": {
			gvk: imoocPod, spec: `{replicas: many}`,
			want: `ImoocPod.batch.tutorial.kubebuilder.io "bad" is invalid: [spec.replicas: Invalid value: "string": spec.replicas in body must be of type integer: "string", .spec.replicas: Invalid value: 0: .spec.replicas accessor error: many is of the type string, expected int64` + unchecked,
		},
		"ImoocPod: a field of PodManagers": {
			gvk: imoocPod, spec: `{replicas: 1, image: nginx}`,
			want: `ImoocPod in version "v1alpha1" cannot be handled as a ImoocPod: strict decoding error: unknown field "spec.image"`,
		},
		"HelloWorld: size below 0": {
			gvk: helloWorld, spec: `{size: -1}`,
			want: `HelloWorld.test.jiaozi.com "bad" is invalid: [spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0, .spec.size: Invalid value: -1: should be a non-negative integer]`,
		},
		"HelloWorld: size beyond any cluster": {
			gvk: helloWorld, spec: `{size: 100001}`,
			want: `HelloWorld.test.jiaozi.com "bad" is invalid: spec.size: Invalid value: 100001: spec.size in body should be less than or equal to 100000`,
		},
		"HelloWorld: a misspelt field": {
			gvk: helloWorld, spec: `{sise: 1}`,
			want: `HelloWorld in version "v1alpha1" cannot be handled as a HelloWorld: strict decoding error: unknown field "spec.sise"`,
		},
		"Collector: no selector": {
			gvk: collectorOf, spec: `{}`,
			want: `Collector.collector.ip.mycompany.com "bad" is invalid: spec.selector: Required value`,
		},
		"Collector: an unknown operator": {
			gvk: collectorOf, spec: `{selector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}`,
			want: read + `Collector.collector.ip.mycompany.com "bad" is invalid: spec.selector.matchExpressions[0].operator: Invalid value: "Near": not a valid selector operator`,
		},
		"Collector: In without values": {
			gvk: collectorOf, spec: `{selector: {matchExpressions: [{key: a, operator: In}]}}`,
			want: read + "Collector.collector.ip.mycompany.com \"bad\" is invalid: spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
		},
		"Collector: Exists with values": {
			gvk: collectorOf, spec: `{selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}`,
			want: read + "Collector.collector.ip.mycompany.com \"bad\" is invalid: spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
		},
		"Collector: a label value with a space": {
			gvk: collectorOf, spec: `{selector: {matchLabels: {a: "b c"}}}`,
			want: read + `Collector.collector.ip.mycompany.com "bad" is invalid: spec.selector.matchLabels: Invalid value: "b c": ` + noLabel,
		},
		"Collector: a namespace in capitals": {
			gvk: collectorOf, spec: `{selector: {}, namespaces: [Default]}`,
			want: `Collector.collector.ip.mycompany.com "bad" is invalid: spec.namespaces[0]: Invalid value: "Default": spec.namespaces[0] in body should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'`,
		},
		"Collector: a namespace twice": {
			gvk: collectorOf, spec: `{selector: {}, namespaces: [a, a]}`,
			want: `Collector.collector.ip.mycompany.com "bad" is invalid: spec.namespaces[1]: Duplicate value: "a"`,
		},

		// Names.
		"PodManager: a name of 53 characters": {
			gvk: podManager, name: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, spec: `{image: nginx}`,
			want: `PodManager.apps.mycompany.com "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: <nil>: Invalid value: metadata.name must be at most 52 characters, so that its pods' names with their ordinals stay valid host names`,
		},
		"PodManager: a name in capitals": {
			gvk: podManager, name: `Web`, spec: `{image: nginx}`,
			want: `PodManager.apps.mycompany.com "Web" is invalid: metadata.name: Invalid value: "Web": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		},
		"v1alpha1: a name of 53 characters": {
			gvk: oldManager, name: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, spec: `{size: 1, image: nginx}`,
			want: `PodManager.apps.mycompany.com "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: <nil>: Invalid value: metadata.name must be at most 52 characters, so that its pods' names with their ordinals stay valid host names`,
		},
		"ImoocPod: a name of 51 characters": {
			gvk: imoocPod, name: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, spec: `{}`,
			want: `ImoocPod.batch.tutorial.kubebuilder.io "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: <nil>: Invalid value: metadata.name must be at most 50 characters, so that its pods' names stay valid host names`,
		},
		"HelloWorld: a name of 64 characters": {
			gvk: helloWorld, name: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa`, spec: `{}`,
			want: `HelloWorld.test.jiaozi.com "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" is invalid: <nil>: Invalid value: metadata.name must be at most 63 characters, because it is the value of the label hello_name`,
		},

		// Changes of what was good.
		"identity cannot be changed": {
			gvk: podManager, name: `good-0`, spec: `{image: nginx, replicas: 0, identity: Ordinal}`, patch: `{spec: {identity: Random}}`,
			want: `PodManager.apps.mycompany.com "good-0" is invalid: spec.identity: Invalid value: "Random": identity cannot be changed, because it names the pods: make a new PodManager instead`,
		},
		"volumeClaimTemplates cannot be changed": {
			gvk: podManager, name: `good-claims`, spec: `{image: nginx, replicas: 0, volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}`,
			patch: `{spec: {volumeClaimTemplates: [{metadata: {name: data2}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`,
			want:  `PodManager.apps.mycompany.com "good-claims" is invalid: spec: Invalid value: volumeClaimTemplates cannot be changed, because pods that are replaced would find other volumes than before: make a new PodManager instead`,
		},
		"a good template made bad": {
			gvk: podManager, name: `good-1`, spec: `{replicas: 0, template: {spec: {containers: [{name: app, image: nginx}]}}}`, patch: `{spec: {template: {spec: {containers: [{name: app, image: nginx, ports: [{containerPort: 0}]}]}}}}`,
			want: tried + `PodManager.apps.mycompany.com "good-1" is invalid: spec.template.spec.containers[0].ports[0].containerPort: Required value`,
		},
		"a good image made bad, by shorthand": {
			gvk: podManager, name: `good-2`, spec: `{replicas: 0, image: nginx}`, patch: `{spec: {image: "nginx "}}`,
			want: `PodManager.apps.mycompany.com "good-2" is invalid: spec.image: Invalid value: "nginx ": image must not begin or end with a space`,
		},
		"a good size made bad, through v1alpha1": {
			gvk: podManager, name: `good-3`, spec: `{replicas: 0, image: nginx}`, patch: `{spec: {size: -1}}`, through: "v1alpha1",
			want: `PodManager.apps.mycompany.com "good-3" is invalid: spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0`,
		},
		"image and template both taken away": {
			gvk: podManager, name: `good-4`, spec: `{replicas: 0, image: nginx}`, patch: `{spec: {image: null}}`,
			want: `PodManager.apps.mycompany.com "good-4" is invalid: spec: Invalid value: set image, or template with at least one container`,
		},
		"a Collector made bad": {
			gvk: collectorOf, name: `good-5`, spec: `{selector: {}}`, patch: `{spec: {selector: {matchLabels: {a: "b c"}}}}`,
			want: read + `Collector.collector.ip.mycompany.com "good-5" is invalid: spec.selector.matchLabels: Invalid value: "b c": ` + noLabel,
		},
	}
}
