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

package v1alpha1

const (
	// LabelName is on the Deployment and on its pods and carries the name of
	// the HelloWorld. The Deployment selects its pods by it.
	LabelName = "hello_name"

	// ContainerName is the name of the container and of its port.
	ContainerName = "nginx"
	// Port is where nginx listens.
	Port = 80

	// MaxNodes is how many pod names status.nodes lists at most.
	MaxNodes = 100
)

// Condition types of a HelloWorld.
const (
	// ConditionReady is always present: True when every pod that size asks
	// for is available.
	ConditionReady = "Ready"
	// ConditionReconciling is present, and True, only while a change or a
	// repair is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is present, and True, only when nothing will move
	// without help; its reason and message say what to do.
	ConditionStalled = "Stalled"
)

// Reasons of conditions.
const (
	// ReasonAvailable: every pod is available.
	ReasonAvailable = "Available"
	// ReasonProgressing: the Deployment is on its way to what was asked for.
	ReasonProgressing = "Progressing"
	// ReasonNameTaken: a Deployment of this name exists and is not ours.
	ReasonNameTaken = "NameTaken"
	// ReasonRefused: the API server refuses the Deployment.
	ReasonRefused = "DeploymentRefused"
	// ReasonPaused: a user paused the Deployment, so its pods do not
	// follow.
	ReasonPaused = "DeploymentPaused"
	// ReasonDeadlineExceeded: the Deployment made no progress within its
	// deadline.
	ReasonDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonReplicaFailure: the Deployment's pods cannot be created.
	ReasonReplicaFailure = "ReplicaFailure"
)

// Reasons of events: what the operator did.
const (
	// ReasonCreated: the Deployment was created.
	ReasonCreated = "Created"
	// ReasonScaled: the Deployment's replicas follow a new size.
	ReasonScaled = "Scaled"
	// ReasonCorrected: the Deployment had been edited and was put right.
	ReasonCorrected = "Corrected"
	// ReasonFailed: something needs help; the note says what.
	ReasonFailed = "Failed"
)
