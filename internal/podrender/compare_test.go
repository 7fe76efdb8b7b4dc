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

package podrender

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// aTemplate is a template with one container, a sidecar and an init container.
func aTemplate(changes ...func(*corev1.PodTemplateSpec)) *corev1.PodTemplateSpec {
	always := corev1.ContainerRestartPolicyAlways
	t := &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27", Resources: sizes("500m", "1Gi", "1", "1Gi")}},
			InitContainers: []corev1.Container{
				{Name: "setup", Image: "busybox:1"},
				{Name: "proxy", Image: "envoy:1", RestartPolicy: &always, Resources: sizes("100m", "64Mi", "", "")},
			},
		},
	}
	for _, change := range changes {
		change(t)
	}
	return t
}

// sizes are requests and limits of cpu and memory; empty means none.
func sizes(cpu, memory, maxCPU, maxMemory string) corev1.ResourceRequirements {
	list := func(cpu, memory string) corev1.ResourceList {
		l := corev1.ResourceList{}
		if cpu != "" {
			l[corev1.ResourceCPU] = resource.MustParse(cpu)
		}
		if memory != "" {
			l[corev1.ResourceMemory] = resource.MustParse(memory)
		}
		return l
	}
	return corev1.ResourceRequirements{Requests: list(cpu, memory), Limits: list(maxCPU, maxMemory)}
}

// onApp, onSetup and onProxy change one container.
func onApp(change func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { change(&t.Spec.Containers[0]) }
}

func onSetup(change func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { change(&t.Spec.InitContainers[0]) }
}

func onProxy(change func(*corev1.Container)) func(*corev1.PodTemplateSpec) {
	return func(t *corev1.PodTemplateSpec) { change(&t.Spec.InitContainers[1]) }
}

func image(name string) func(*corev1.Container) { return func(c *corev1.Container) { c.Image = name } }

func size(r corev1.ResourceRequirements) func(*corev1.Container) {
	return func(c *corev1.Container) { c.Resources = r }
}

// restartFor makes a new size of a resource restart the container.
func restartFor(name corev1.ResourceName) func(*corev1.Container) {
	return func(c *corev1.Container) {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: name, RestartPolicy: corev1.RestartContainer}}
	}
}

func TestWhatAChangeNeeds(t *testing.T) {
	type edit = func(*corev1.PodTemplateSpec)
	for name, test := range map[string]struct {
		both []edit // true of the old and the new template
		edit edit
		want Change
	}{
		"nothing": {edit: func(*corev1.PodTemplateSpec) {}},
		"a label is changed in place": {
			edit: func(t *corev1.PodTemplateSpec) { t.Labels = map[string]string{"app": "web", "tier": "front"} },
			want: Change{Metadata: true},
		},
		"so is an annotation": {
			edit: func(t *corev1.PodTemplateSpec) { t.Annotations = map[string]string{"note": "x"} },
			want: Change{Metadata: true},
		},
		"but the annotation of kubectl rollout restart asks for new pods": {
			edit: func(t *corev1.PodTemplateSpec) {
				t.Annotations = map[string]string{appsv1.AnnotationKubectlRestart: "2026-03-01T12:00:00Z"}
			},
			want: Change{Metadata: true, Recreate: "a restart was asked for"},
		},
		"the image of a container restarts it in place": {
			edit: onApp(image("nginx:1.28")),
			want: Change{Images: []string{"app"}, Restarts: true},
		},
		"so does that of a sidecar": {
			edit: onProxy(image("envoy:2")),
			want: Change{Images: []string{"proxy"}, Restarts: true},
		},
		"that of an init container restarts nothing": {
			edit: onSetup(image("busybox:2")),
			want: Change{Images: []string{"setup"}},
		},
		"an image that moves to latest stays in place: the pod keeps its pull policy": {
			edit: onApp(image("nginx")),
			want: Change{Images: []string{"app"}, Restarts: true},
		},
		"a pull policy that says something else does not": {
			edit: onApp(func(c *corev1.Container) { c.ImagePullPolicy = corev1.PullAlways }),
			want: Change{Recreate: "imagePullPolicy of container app changed"},
		},
		"cpu is resized without a restart": {
			edit: onApp(size(sizes("600m", "1Gi", "2", "1Gi"))),
			want: Change{Resize: []string{"app"}},
		},
		"so is a sidecar": {
			edit: onProxy(size(sizes("200m", "64Mi", "", ""))),
			want: Change{Resize: []string{"proxy"}},
		},
		"an init container has its size only at the start": {
			both: []edit{onSetup(size(sizes("1", "1Gi", "1", "1Gi")))},
			edit: onSetup(size(sizes("2", "1Gi", "2", "1Gi"))),
			want: Change{Recreate: "resources of container setup changed"},
		},
		"the resize policy may want a restart": {
			both: []edit{onApp(restartFor(corev1.ResourceMemory))},
			edit: onApp(size(sizes("500m", "2Gi", "1", "2Gi"))),
			want: Change{Resize: []string{"app"}, Restarts: true},
		},
		"but not for a resource that stays": {
			both: []edit{onApp(restartFor(corev1.ResourceMemory))},
			edit: onApp(size(sizes("700m", "1Gi", "1", "1Gi"))),
			want: Change{Resize: []string{"app"}},
		},
		"a limit cannot be added to a running pod": {
			edit: onProxy(size(sizes("100m", "64Mi", "1", ""))),
			want: Change{Recreate: "resources of container proxy changed"},
		},
		"nor taken away": {
			edit: onApp(size(sizes("500m", "1Gi", "", "1Gi"))),
			want: Change{Recreate: "resources of container app changed"},
		},
		"nor can the QoS class change": {
			both: []edit{func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers = nil }, onApp(size(sizes("1", "1Gi", "1", "1Gi")))},
			edit: onApp(size(sizes("1", "1Gi", "2", "1Gi"))),
			want: Change{Resize: []string{"app"}, Recreate: "the QoS class would change"},
		},
		"a limit alone is a request too, so both are resized": {
			both: []edit{func(t *corev1.PodTemplateSpec) { t.Spec.InitContainers = nil }, onApp(size(sizes("", "", "1", "1Gi")))},
			edit: onApp(size(sizes("", "", "2", "1Gi"))),
			want: Change{Resize: []string{"app"}},
		},
		"another resource than cpu and memory needs a new pod": {
			edit: onApp(func(c *corev1.Container) {
				c.Resources.Limits = c.Resources.Limits.DeepCopy()
				c.Resources.Limits["example.com/gpu"] = resource.MustParse("1")
			}),
			want: Change{Recreate: "resources of container app changed"},
		},
		"several things at once": {
			edit: func(t *corev1.PodTemplateSpec) {
				t.Labels["tier"] = "front"
				onApp(image("nginx:1.28"))(t)
				onProxy(size(sizes("200m", "64Mi", "", "")))(t)
			},
			want: Change{Metadata: true, Images: []string{"app"}, Resize: []string{"proxy"}, Restarts: true},
		},
		"what needs a new pod is named, whatever else could be done in place": {
			edit: func(t *corev1.PodTemplateSpec) {
				onApp(image("nginx:1.28"))(t)
				onApp(func(c *corev1.Container) { c.Env = []corev1.EnvVar{{Name: "A", Value: "1"}} })(t)
			},
			want: Change{Images: []string{"app"}, Restarts: true, Recreate: "env of container app changed"},
		},
		"a field of the pod": {
			edit: func(t *corev1.PodTemplateSpec) { t.Spec.NodeSelector = map[string]string{"disk": "ssd"} },
			want: Change{Recreate: "nodeSelector changed"},
		},
		"another container": {
			edit: func(t *corev1.PodTemplateSpec) {
				t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: "more", Image: "nginx"})
			},
			want: Change{Recreate: "containers changed"},
		},
		"a container of another name": {
			edit: onApp(func(c *corev1.Container) { c.Name = "web" }),
			want: Change{Recreate: "containers changed"},
		},
		"a finalizer": {
			edit: func(t *corev1.PodTemplateSpec) { t.Finalizers = []string{"example.com/x"} },
			want: Change{Recreate: "finalizers or other metadata changed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := aTemplate(test.both...), aTemplate(append(test.both, test.edit)...)
			kept := [2]*corev1.PodTemplateSpec{from.DeepCopy(), to.DeepCopy()}
			if diff := cmp.Diff(test.want, Compare(from, to)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(kept, [2]*corev1.PodTemplateSpec{from, to}); diff != "" {
				t.Errorf("Compare changed what it was given:\n%s", diff)
			}
		})
	}
}

// What the API server would write into the pod anyway is no change, whether
// the template says it or not.
func TestADefaultThatIsWrittenDownIsNoChange(t *testing.T) {
	bare := aTemplate(func(t *corev1.PodTemplateSpec) {
		c := &t.Spec.Containers[0]
		c.Resources = sizes("", "", "1", "1Gi")
		c.Ports = []corev1.ContainerPort{{ContainerPort: 80}}
		c.Env = []corev1.EnvVar{{Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}}}
		c.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{}}}
		c.LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{GRPC: &corev1.GRPCAction{Port: 1}}}
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{}}}
		c.SecurityContext = &corev1.SecurityContext{}
		t.Spec.DeprecatedServiceAccount = "robot"
		t.Spec.Volumes = []corev1.Volume{
			{Name: "none"},
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "s"}}},
			{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{}}},
			{Name: "down", VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
				Items: []corev1.DownwardAPIVolumeFile{{Path: "p", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
			}}},
			{Name: "projected", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "t"}}},
			}}},
			{Name: "host", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/x"}}},
		}
	})
	told := bare.DeepCopy()
	c := &told.Spec.Containers[0]
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", corev1.TerminationMessageReadFile
	c.ImagePullPolicy = corev1.PullIfNotPresent
	c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1000m"), corev1.ResourceMemory: resource.MustParse("1024Mi")}
	c.Ports[0].Protocol = corev1.ProtocolTCP
	c.Env[0].ValueFrom.FieldRef.APIVersion = "v1"
	for _, p := range []*corev1.Probe{c.ReadinessProbe, c.LivenessProbe} {
		p.TimeoutSeconds, p.PeriodSeconds, p.SuccessThreshold, p.FailureThreshold = 1, 10, 1, 3
	}
	c.ReadinessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Scheme = "/", corev1.URISchemeHTTP
	c.LivenessProbe.GRPC.Service = ptr.To("")
	c.Lifecycle.PreStop.HTTPGet.Path, c.Lifecycle.PreStop.HTTPGet.Scheme = "/", corev1.URISchemeHTTP
	c.SecurityContext.ProcMount = ptr.To(corev1.DefaultProcMount)
	s := &told.Spec
	s.RestartPolicy, s.DNSPolicy, s.SchedulerName = corev1.RestartPolicyAlways, corev1.DNSClusterFirst, "default-scheduler"
	s.TerminationGracePeriodSeconds, s.EnableServiceLinks = ptr.To(int64(30)), ptr.To(true)
	s.SecurityContext, s.ServiceAccountName = &corev1.PodSecurityContext{}, "robot"
	s.Tolerations, s.NodeSelector = []corev1.Toleration{}, map[string]string{}
	v := s.Volumes
	v[0].EmptyDir = &corev1.EmptyDirVolumeSource{}
	v[1].Secret.DefaultMode, v[2].ConfigMap.DefaultMode = ptr.To(int32(0o644)), ptr.To(int32(0o644))
	v[3].DownwardAPI.DefaultMode, v[3].DownwardAPI.Items[0].FieldRef.APIVersion = ptr.To(int32(0o644)), "v1"
	v[4].Projected.DefaultMode, v[4].Projected.Sources[0].ServiceAccountToken.ExpirationSeconds = ptr.To(int32(0o644)), ptr.To(int64(3600))
	v[5].HostPath.Type = ptr.To(corev1.HostPathUnset)

	for name, pair := range map[string][2]*corev1.PodTemplateSpec{"written down": {bare, told}, "left out again": {told, bare}} {
		if diff := cmp.Diff(Change{}, Compare(pair[0], pair[1])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	encoded, err := Encode(told)
	if err != nil {
		t.Fatal(err)
	}
	stored := Revision(Owner{Namespace: "default", Name: "web"}, encoded, "web-1", 1)
	if same, err := Means(stored, bare, nil); err != nil || !same {
		t.Errorf("the revision with the defaults means the template without: %v, %v", same, err)
	}
	other := bare.DeepCopy()
	other.Spec.TerminationGracePeriodSeconds = ptr.To(int64(31))
	if same, err := Means(stored, other, nil); err != nil || same {
		t.Errorf("31 seconds of grace mean the same as 30: %v, %v", same, err)
	}
}

func TestPullPolicies(t *testing.T) {
	for image, want := range map[string]corev1.PullPolicy{
		"nginx":                             corev1.PullAlways,
		"nginx:latest":                      corev1.PullAlways,
		"nginx:1.27":                        corev1.PullIfNotPresent,
		"registry:5000/nginx":               corev1.PullAlways,
		"registry:5000/nginx:1.27":          corev1.PullIfNotPresent,
		"nginx@sha256:0123":                 corev1.PullIfNotPresent,
		"registry:5000/a/b:latest@sha256:0": corev1.PullAlways,
	} {
		if got := pullPolicy(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}
