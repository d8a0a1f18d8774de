// Command node contains kubelet, kube-proxy and kube-controller-manager in one executable, for real nodes. As in cmd/kube, argv[0] selects the program.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

func main() {
	var cmd *cobra.Command
	switch name := filepath.Base(os.Args[0]); name {
	case "kubelet":
		cmd = kubelet.NewKubeletCommand(context.Background())
	case "kube-proxy":
		cmd = proxy.NewProxyCommand()
	case "kube-controller-manager":
		cmd = controllermanager.NewControllerManagerCommand()
	default:
		fmt.Fprintf(os.Stderr, "%s: unknown program %q; call this through a link named kubelet, kube-proxy or kube-controller-manager\n", os.Args[0], name)
		os.Exit(2)
	}
	os.Exit(cli.Run(cmd))
}
