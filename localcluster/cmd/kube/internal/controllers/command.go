package controllers

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/controller-manager/pkg/informerfactory"
)

// As Kubernetes' defaults.
const (
	informerResync  = 12 * time.Hour
	discoveryPeriod = 30 * time.Second
)

// NewCommand returns the command kube-controller-manager. It runs until SIGINT or SIGTERM.
func NewCommand() *cobra.Command {
	var kubeconfig, keyFile, rootCAFile string
	cmd := &cobra.Command{
		Use:          "kube-controller-manager",
		Short:        "Run the controllers of Kubernetes that clusters with simulated nodes need",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return run(ctx, kubeconfig, keyFile, rootCAFile)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "path of the kubeconfig")
	cmd.Flags().StringVar(&keyFile, "service-account-private-key-file", "", "path of the key that signs tokens in Secrets")
	cmd.Flags().StringVar(&rootCAFile, "root-ca-file", "", "path of the certificates that ServiceAccounts trust")
	return cmd
}

func run(ctx context.Context, kubeconfig, keyFile, rootCAFile string) error {
	m, err := newManager(kubeconfig, keyFile, rootCAFile)
	if err != nil {
		return err
	}
	var loops []loop
	for _, construct := range constructors {
		l, err := construct(ctx, m)
		if err != nil {
			return err
		}
		loops = append(loops, l...)
	}
	m.typed.Start(ctx.Done())
	m.untyped.Start(ctx.Done())
	close(m.started)

	var group wait.Group
	for _, l := range loops {
		group.StartWithContext(ctx, l)
	}
	group.Wait()
	return nil
}

// manager contains what controllers share.
type manager struct {
	client    kubernetes.Interface
	metadata  metadata.Interface
	discovery discovery.DiscoveryInterface
	mapper    meta.ResettableRESTMapper // the garbage collector resets it when kinds come or go
	scales    scale.ScalesGetter

	typed   informers.SharedInformerFactory
	untyped metadatainformer.SharedInformerFactory
	started chan struct{} // closed when the informers of the constructors run

	key    any    // signs tokens in Secrets
	rootCA []byte // PEM
}

func newManager(kubeconfig, keyFile, rootCAFile string) (*manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS = -1 // the API server has limits of its own
	m := &manager{started: make(chan struct{})}
	if m.key, err = keyutil.PrivateKeyFromFile(keyFile); err != nil {
		return nil, fmt.Errorf("reading key %s: %w", keyFile, err)
	}
	if m.rootCA, err = os.ReadFile(rootCAFile); err != nil {
		return nil, fmt.Errorf("reading certificates: %w", err)
	}
	if m.metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making metadata client: %w", err)
	}
	typed := rest.CopyConfig(config)
	typed.ContentType = runtime.ContentTypeProtobuf
	if m.client, err = kubernetes.NewForConfig(typed); err != nil {
		return nil, fmt.Errorf("making client: %w", err)
	}
	m.discovery = m.client.Discovery()
	m.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(m.discovery))
	m.scales, err = scale.NewForConfig(config, m.mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(m.discovery))
	if err != nil {
		return nil, fmt.Errorf("making client of scales: %w", err)
	}
	m.typed = informers.NewSharedInformerFactory(m.client, informerResync)
	m.untyped = metadatainformer.NewSharedInformerFactory(m.metadata, informerResync)
	return m, nil
}

// informers returns informers by resource, for kinds that Kubernetes does not know, too.
func (m *manager) informers() informerfactory.InformerFactory {
	return informerfactory.NewInformerFactory(m.typed, m.untyped)
}
