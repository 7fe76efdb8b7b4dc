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

// Package webhook is exercise 11: a webhook that blocks its own operator.
//
// This is the file to edit.
package webhook

import (
	"context"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// LabelOperator is on objects that the operator keeps for itself.
const LabelOperator = "lab.mycompany.com/operator"

// Webhook is the configuration that the API server has. The webhook refuses ConfigMaps
// with empty values.
func Webhook() admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: "configmaps.lab.mycompany.com",
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
		FailurePolicy: ptr.To(admissionregistrationv1.Fail),
	}
}

// Reconciler gives each Web a ConfigMap with settings. It also serves the webhook, for
// which it needs a certificate.
type Reconciler struct {
	client.Client
	clock clock.PassiveClock
	serve func()
}

// New makes the reconciler.
func New(p sim.Process) reconcile.Reconciler { return &Reconciler{p.Client, p.Clock, p.Serve} }

// Watches wake the reconciler.
func (r *Reconciler) Watches() []sim.Watch {
	return []sim.Watch{sim.For(&labv1.Web{}), sim.Owns(&labv1.Web{}, &corev1.ConfigMap{})}
}

// Reconcile makes sure of the certificate, serves the webhook, and creates the settings.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if err := r.certificate(ctx, req.Namespace); err != nil {
		return ctrl.Result{}, err
	}
	r.serve()
	var web labv1.Web
	if err := r.Get(ctx, req.NamespacedName, &web); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	settings := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name + "-settings"},
		Data:       map[string]string{"image": web.Spec.Image},
	}
	if err := ctrl.SetControllerReference(&web, settings, r.Scheme()); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Create(ctx, settings); err != nil && !apierrors.IsAlreadyExists(err) {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

// certificate renews the certificate when it has expired. It is a ConfigMap here, with
// nothing but the time at which it expires.
func (r *Reconciler) certificate(ctx context.Context, namespace string) error {
	cert := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "operator-cert", Labels: map[string]string{LabelOperator: "true"},
	}}
	err := r.Get(ctx, client.ObjectKeyFromObject(cert), cert)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if until, parseErr := time.Parse(time.RFC3339, cert.Data["expires"]); parseErr == nil && until.After(r.clock.Now()) {
		return nil
	}
	cert.Data = map[string]string{"expires": r.clock.Now().AddDate(0, 0, 90).UTC().Format(time.RFC3339)}
	if apierrors.IsNotFound(err) {
		return r.Create(ctx, cert)
	}
	return r.Update(ctx, cert)
}
