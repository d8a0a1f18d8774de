// Package registration puts the registrations of device admission back when somebody changes or deletes them: without them Pods with devices pass
// uncompleted and uncounted, and nobody notices.
//
// What was installed is the manifest of the component, which the operator carries, for the scope that the configuration is annotated with. So the one
// who installs decides, and the operator never undoes an upgrade: without the annotation it leaves a configuration alone. What it did not write, such as
// webhooks, match conditions and expressions of namespaces of others, stays.
package registration
