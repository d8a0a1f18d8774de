// Package registration restores the webhook configurations of device admission if they are changed or deleted. Without them, Pods
// with devices would pass unchanged and uncounted, and nobody would notice.
//
// The wanted state is the manifest of the component, which is embedded in the operator, for the scope in the annotation of the
// configuration. A configuration without the annotation is left alone, so installers decide and the operator never undoes an
// upgrade. Other values, such as webhooks, match conditions and namespace expressions of other owners, stay.
package registration
