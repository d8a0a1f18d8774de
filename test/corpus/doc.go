// Package corpus holds objects, and changes of objects, that run under KubeRay 1.7, each with the reason why. They were chosen to be
// hard on us: every field in an unusual but working form, what tools and other controllers write, and shapes that were stored before
// the CRDs had rules. Nothing of ours may refuse one of them; the tests here and in test/matrix ask every layer.
//
// The cases are in cases/*.yaml, as patches of a small valid object of their kind.
package corpus
