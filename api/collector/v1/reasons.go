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

package v1

const (
	// MaxIPs is how many addresses status.ips lists at most.
	MaxIPs = 100
	// MaxChanges is how many changes status.recentChanges keeps.
	MaxChanges = 20
	// MaxChangeLength is how long the description of a change may be.
	MaxChangeLength = 256
	// DefaultServiceAccount is the service account of a Collector that names
	// none: Kubernetes makes it in every namespace.
	DefaultServiceAccount = "default"
)

// Condition types of a Collector.
const (
	// ConditionReady is always present: True while events are being counted.
	ConditionReady = "Ready"
	// ConditionReconciling is present, and True, only while the watches are
	// being started.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present, and True, only when nothing can be counted
	// without help; its reason and message say what to do.
	ConditionStalled = "Stalled"
)

// Reasons of conditions.
const (
	// ReasonCounting: the watches are up and their events are counted.
	ReasonCounting = "Counting"
	// ReasonStarting: the watches are being started.
	ReasonStarting = "Starting"
	// ReasonInvalidSelector: the selector cannot be read.
	ReasonInvalidSelector = "InvalidSelector"
	// ReasonNamespaceNotWatched: the operator was started for other
	// namespaces only.
	ReasonNamespaceNotWatched = "NamespaceNotWatched"
	// ReasonNamespaceRefused: the Collector's service account may not read one
	// of the namespaces, or the API server did not say that it may.
	ReasonNamespaceRefused = "NamespaceRefused"
	// ReasonNoRoom: the Collectors of this namespace, or all of them, read as
	// many namespaces as they may.
	ReasonNoRoom = "NoRoom"
	// ReasonWatchFailed: the API server refuses a watch.
	ReasonWatchFailed = "WatchFailed"
)

// Reasons of events: what the operator did.
const (
	// ReasonSettled: a change has settled; the note tells what it triggered.
	ReasonSettled = "Settled"
	// ReasonFailed: something needs help; the note says what.
	ReasonFailed = "Failed"
)
