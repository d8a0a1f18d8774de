// Package claims derives from the ResourceClaims of a Pod, and from the DeviceClasses that they name, which resources Ray has there and
// which devices the Pod requests. It reads specs only, so that the result is known before a device is allocated. It is pure: the caller
// looks up templates, claims and classes.
package claims
