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
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// meaning is a template with everything written out that the API server adds
// to a pod of it: a template with a default written out, by the user or by a
// newer API, asks for the same pod. Values that depend on the cluster (the
// service account, limits of a LimitRange) are not known here, and only the
// user writes them into a template.
func meaning(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	t := template.DeepCopy()
	spec := &t.Spec
	fill(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	fill(&spec.DNSPolicy, corev1.DNSClusterFirst)
	fill(&spec.SchedulerName, corev1.DefaultSchedulerName)
	fillPointer(&spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)
	fillPointer(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	fill(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			fillContainer(&list[i], spec.HostNetwork)
		}
	}
	for i := range spec.Volumes {
		fillVolume(&spec.Volumes[i].VolumeSource)
	}
	return t
}

func fill[T comparable](field *T, value T) {
	var empty T
	if *field == empty {
		*field = value
	}
}

func fillPointer[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}

func fillContainer(c *corev1.Container, hostNetwork bool) {
	fill(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	fill(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	c.Resources = Resources(c)
	for i := range c.Ports {
		fill(&c.Ports[i].Protocol, corev1.ProtocolTCP)
		if hostNetwork {
			fill(&c.Ports[i].HostPort, c.Ports[i].ContainerPort)
		}
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil {
			fill(&from.FieldRef.APIVersion, "v1")
		}
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		fillProbe(probe)
	}
	if c.Lifecycle != nil {
		for _, handler := range []*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
			if handler != nil {
				fillHTTPGet(handler.HTTPGet)
			}
		}
	}
	if c.SecurityContext != nil {
		fillPointer(&c.SecurityContext.ProcMount, corev1.DefaultProcMount)
	}
}

// Resources are what a container asks for: without a request, its limit.
func Resources(c *corev1.Container) corev1.ResourceRequirements {
	r := *c.Resources.DeepCopy()
	if len(r.Limits) > 0 {
		requests := maps.Clone(r.Limits)
		maps.Copy(requests, r.Requests)
		r.Requests = requests
	}
	return r
}

func fillProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	fill(&p.TimeoutSeconds, 1)
	fill(&p.PeriodSeconds, 10)
	fill(&p.SuccessThreshold, 1)
	fill(&p.FailureThreshold, 3)
	fillHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		fillPointer(&p.GRPC.Service, "")
	}
}

func fillHTTPGet(get *corev1.HTTPGetAction) {
	if get == nil {
		return
	}
	fill(&get.Path, "/")
	fill(&get.Scheme, corev1.URISchemeHTTP)
}

func fillVolume(v *corev1.VolumeSource) {
	switch {
	case v.Secret != nil:
		fillPointer(&v.Secret.DefaultMode, corev1.SecretVolumeSourceDefaultMode)
	case v.ConfigMap != nil:
		fillPointer(&v.ConfigMap.DefaultMode, corev1.ConfigMapVolumeSourceDefaultMode)
	case v.DownwardAPI != nil:
		fillPointer(&v.DownwardAPI.DefaultMode, corev1.DownwardAPIVolumeSourceDefaultMode)
		fillDownward(v.DownwardAPI.Items)
	case v.Projected != nil:
		fillProjected(v.Projected)
	case v.HostPath != nil:
		fillPointer(&v.HostPath.Type, corev1.HostPathUnset)
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		fillPointer(&v.Ephemeral.VolumeClaimTemplate.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
	case *v == corev1.VolumeSource{}:
		v.EmptyDir = &corev1.EmptyDirVolumeSource{}
	}
}

func fillProjected(p *corev1.ProjectedVolumeSource) {
	fillPointer(&p.DefaultMode, corev1.ProjectedVolumeSourceDefaultMode)
	for i := range p.Sources {
		if token := p.Sources[i].ServiceAccountToken; token != nil {
			fillPointer(&token.ExpirationSeconds, 60*60)
		}
		if down := p.Sources[i].DownwardAPI; down != nil {
			fillDownward(down.Items)
		}
	}
}

func fillDownward(items []corev1.DownwardAPIVolumeFile) {
	for i := range items {
		if items[i].FieldRef != nil {
			fill(&items[i].FieldRef.APIVersion, "v1")
		}
	}
}

// meanings writes two templates out to be compared. The pull policy that goes
// without saying follows from the image. It is written out only where the other
// template says one: an image that moves from a version to latest in place
// keeps the policy that its pod was created with.
func meanings(from, to *corev1.PodTemplateSpec) (a, b *corev1.PodTemplateSpec) {
	a, b = meaning(from), meaning(to)
	alignPullPolicies(a.Spec.Containers, b.Spec.Containers)
	alignPullPolicies(a.Spec.InitContainers, b.Spec.InitContainers)
	return a, b
}

func alignPullPolicies(a, b []corev1.Container) {
	for i := range min(len(a), len(b)) {
		switch x, y := &a[i], &b[i]; {
		case x.ImagePullPolicy == "" && y.ImagePullPolicy != "":
			x.ImagePullPolicy = pullPolicy(x.Image)
		case x.ImagePullPolicy != "" && y.ImagePullPolicy == "":
			y.ImagePullPolicy = pullPolicy(y.Image)
		}
	}
}

// pullPolicy is what the API server gives a container that names none.
func pullPolicy(image string) corev1.PullPolicy {
	name, _, digested := strings.Cut(image[strings.LastIndex(image, "/")+1:], "@")
	_, tag, tagged := strings.Cut(name, ":")
	if tag == "latest" || !tagged && !digested {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
