{{- /* What a block looks like in a manifest, by its anchor. A test decodes each strictly. */ -}}
{{- define "example" -}}
{{- $anchor := trim . -}}
{{- if eq $anchor "apps-v1-podmanager" }}

```yaml
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec: {replicas: 3, image: "nginx:1.27"}
```
{{- else if eq $anchor "apps-v1-backoff" }}

```yaml
spec:
  failedPods:
    backoff: {initial: 10s, max: 5m}
```
{{- else if eq $anchor "apps-v1-claimretention" }}

```yaml
spec:
  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete, whenDeleted: Retain}
```
{{- else if eq $anchor "apps-v1-deletion" }}

```yaml
spec:
  deletion: {policy: Orphan}
```
{{- else if eq $anchor "apps-v1-disruption" }}

```yaml
spec:
  disruption: {policy: SurgeFirst, deadlineSeconds: 600, maxSurge: 1, rebalance: Manual}
```
{{- else if eq $anchor "apps-v1-failedpods" }}

```yaml
spec:
  failedPods: {limit: 2, backoff: {initial: 30s, max: 10m}}
```
{{- else if eq $anchor "apps-v1-podmanagerspec" }}

```yaml
spec:
  replicas: 3
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}
  minReadySeconds: 5
  update: {maxUnavailable: 1, progressDeadlineSeconds: 120, onFailure: Rollback}
  disruption: {policy: SurgeFirst}
```
{{- else if eq $anchor "apps-v1-scaledown" }}

```yaml
spec:
  identity: Random
  scaleDown: {prefer: NotReadyFirst}
```
{{- else if eq $anchor "apps-v1-terminating" }}

```yaml
spec:
  identity: Random
  terminating: {policy: AfterTimeout, timeout: 30s}
```
{{- else if eq $anchor "apps-v1-update" }}

```yaml
spec:
  update:
    strategy: InPlaceIfPossible
    maxUnavailable: 25%
    maxSurge: 1
    partition: 2
    progressDeadlineSeconds: 300
    onFailure: Rollback
```
{{- else if eq $anchor "apps-v1alpha1-podmanager" }}

```yaml
apiVersion: apps.mycompany.com/v1alpha1
kind: PodManager
metadata: {name: older}
spec: {size: 3, image: "nginx:1.27"}
```
{{- else if eq $anchor "apps-v1alpha1-podmanagerspec" }}

```yaml
spec: {size: 3, image: "nginx:1.27"}
```
{{- else if eq $anchor "batch-v1alpha1-imoocpod" }}

```yaml
apiVersion: batch.tutorial.kubebuilder.io/v1alpha1
kind: ImoocPod
metadata: {name: busy}
spec: {replicas: 2}
```
{{- else if eq $anchor "batch-v1alpha1-imoocpodspec" }}

```yaml
spec: {replicas: 2}
```
{{- else if eq $anchor "collector-v1-collector" }}

```yaml
apiVersion: collector.ip.mycompany.com/v1
kind: Collector
metadata: {name: counter}
spec:
  selector: {matchLabels: {app: web}}
```
{{- else if eq $anchor "collector-v1-collectorspec" }}

```yaml
spec:
  selector: {matchLabels: {app: web}}
  namespaces: [shop, bank]
  serviceAccountName: meter
```
{{- else if eq $anchor "test-v1alpha1-helloworld" }}

```yaml
apiVersion: test.jiaozi.com/v1alpha1
kind: HelloWorld
metadata: {name: hello}
spec: {size: 3}
```
{{- else if eq $anchor "test-v1alpha1-helloworldspec" }}

```yaml
spec: {size: 3}
```
{{- end -}}
{{- end -}}
