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

package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/recorder"
)

// datedEvents is a manager whose events have the times that people sort by:
// kubectl get events --sort-by=.lastTimestamp. Its own go to events.k8s.io,
// which refuses these fields, so that they would come first, in no order.
type datedEvents struct {
	ctrl.Manager
	broadcaster events.EventBroadcaster
}

func withDatedEvents(mgr ctrl.Manager) (*datedEvents, error) {
	core, err := typedcorev1.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client of the events: %w", err)
	}
	return &datedEvents{Manager: mgr, broadcaster: events.NewBroadcaster(coreEvents{core})}, nil
}

// GetEventRecorder returns a recorder. What it records before Start is lost.
func (m *datedEvents) GetEventRecorder(name string) recorder.EventRecorder {
	return m.broadcaster.NewRecorder(m.GetScheme(), name).(recorder.EventRecorder)
}

// Start runs the manager. The recorders end after everything that uses them.
func (m *datedEvents) Start(ctx context.Context) error {
	writing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if err := m.broadcaster.StartRecordingToSinkWithContext(writing); err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	if _, err := m.broadcaster.StartLogging(m.GetLogger().V(1)); err != nil {
		return fmt.Errorf("log events: %w", err)
	}
	defer m.broadcaster.Shutdown()
	return m.Manager.Start(ctx)
}

// coreEvents writes events to the core API.
type coreEvents struct {
	client typedcorev1.EventsGetter
}

// Create writes an event. The answer is not used: an event that comes again is
// patched by its name.
func (s coreEvents) Create(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	_, err := s.client.Events(e.Namespace).Create(ctx, coreEvent(e), metav1.CreateOptions{})
	return e, err
}

// Update is not called by any broadcaster.
func (s coreEvents) Update(ctx context.Context, e *eventsv1.Event) (*eventsv1.Event, error) {
	_, err := s.client.Events(e.Namespace).Update(ctx, coreEvent(e), metav1.UpdateOptions{})
	return e, err
}

// Patch writes that an event came again. The patch is for events.k8s.io; the
// fields it changes are those of the series, and they follow from the event.
func (s coreEvents) Patch(ctx context.Context, e *eventsv1.Event, _ []byte) (*eventsv1.Event, error) {
	now := coreEvent(e)
	patch, err := json.Marshal(map[string]any{"series": now.Series, "count": now.Count, "lastTimestamp": now.LastTimestamp})
	if err != nil {
		return nil, err
	}
	_, err = s.client.Events(e.Namespace).Patch(ctx, e.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return e, err
}

func coreEvent(e *eventsv1.Event) *corev1.Event {
	core := &corev1.Event{
		ObjectMeta:          e.ObjectMeta,
		InvolvedObject:      e.Regarding,
		Related:             e.Related,
		Type:                e.Type,
		Reason:              e.Reason,
		Action:              e.Action,
		Message:             fit(e.Note),
		Source:              corev1.EventSource{Component: e.ReportingController},
		ReportingController: e.ReportingController,
		ReportingInstance:   e.ReportingInstance,
		EventTime:           e.EventTime,
		FirstTimestamp:      metav1.Time{Time: e.EventTime.Time},
		LastTimestamp:       metav1.Time{Time: e.EventTime.Time},
		Count:               1,
	}
	if e.Series != nil {
		core.Count, core.LastTimestamp = e.Series.Count, metav1.Time{Time: e.Series.LastObservedTime.Time}
		core.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return core
}

// maxNote is the longest note that the API server takes.
const maxNote = 1024

// fit cuts a note that is too long, not through the middle of a character.
func fit(note string) string {
	if len(note) <= maxNote {
		return note
	}
	return strings.ToValidUTF8(note[:maxNote-3], "") + "..."
}
