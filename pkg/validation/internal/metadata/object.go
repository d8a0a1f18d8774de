package metadata

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a pointer to an object of one of the kinds that this package knows.
type Object interface {
	metav1.Object
	runtime.Object
}
