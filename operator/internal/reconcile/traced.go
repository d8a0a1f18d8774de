package reconcile

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Traced makes a span of each reconcile, by the tracer provider of the process. Requests to the API server are spans within it. The id is the
// reconcileID of the log. The text of an error is in the log only, as it may quote an object.
func Traced(name string, r reconcile.Reconciler) reconcile.Reconciler {
	tracer := otel.Tracer("github.com/raygate/raygate/operator")
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		ctx, span := tracer.Start(ctx, "reconcile "+name, trace.WithAttributes(
			attribute.String("k8s.namespace.name", req.Namespace),
			attribute.String("raygate.object.name", req.Name),
			attribute.String("raygate.reconcile.id", string(controller.ReconcileIDFromContext(ctx))),
		))
		defer span.End()
		result, err := r.Reconcile(ctx, req)
		if err != nil {
			span.SetStatus(codes.Error, string(apierrors.ReasonForError(err)))
		}
		return result, err
	})
}
