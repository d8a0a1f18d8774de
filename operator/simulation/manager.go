package simulation

import (
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// processManager is what controllers need of a manager. manager.Manager has the methods that nobody calls.
type processManager struct {
	operator  *operator
	client    client.Client
	runnables []manager.Runnable
	manager.Manager
}

// Add implements manager.Manager.
func (m *processManager) Add(r manager.Runnable) error {
	m.runnables = append(m.runnables, r)
	return nil
}

// GetCache implements cluster.Cluster.
func (m *processManager) GetCache() cache.Cache { return m.operator.cache }

// GetClient implements cluster.Cluster.
func (m *processManager) GetClient() client.Client { return m.client }

// GetScheme implements cluster.Cluster.
func (m *processManager) GetScheme() *runtime.Scheme { return scheme() }

// GetFieldIndexer implements cluster.Cluster.
func (m *processManager) GetFieldIndexer() client.FieldIndexer { return m.operator.cache }

// GetLogger implements manager.Manager.
func (m *processManager) GetLogger() logr.Logger { return logr.New(errorSink{m.operator}) }

// GetControllerOptions implements manager.Manager.
func (m *processManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true), ReconciliationTimeout: 2 * time.Minute}
}

// errorSink hears of errors of reconciles, among them panics.
type errorSink struct{ operator *operator }

func (s errorSink) Init(logr.RuntimeInfo)          {}
func (s errorSink) Enabled(int) bool               { return false }
func (s errorSink) Info(int, string, ...any)       {}
func (s errorSink) WithValues(...any) logr.LogSink { return s }
func (s errorSink) WithName(string) logr.LogSink   { return s }
func (s errorSink) Error(err error, msg string, _ ...any) {
	if err == nil || s.operator.dead.Load() {
		return
	}
	s.operator.world.log("%s: %v", msg, err)
	if strings.Contains(err.Error(), "panic:") {
		s.operator.world.watch.violate("noPanic", "%v", err)
	}
}
