package main

import (
	"os"
	_ "time/tzdata" // CronJob time zones must work on hosts without zone files

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // kubectl's login plugins
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"github.com/raygate/raygate/localcluster/cmd/kube/internal/controllers"
)

// programs maps names to the main functions of the programs. Each gets its arguments, its own name first, and returns the exit
// code.
var programs map[string]func(args []string) int

// init fills programs: a literal would be an initialization cycle through program.
func init() {
	programs = map[string]func(args []string) int{
		"etcd": func(args []string) int {
			etcdmain.Main(args)
			return 0
		},
		"kube-apiserver":          server(apiserver.NewAPIServerCommand),
		"kube-controller-manager": server(controllers.NewCommand),
		"kube-scheduler":          server(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"kubectl": func(args []string) int {
			os.Args = args // kubectl uses the global arguments to find its plugins
			if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
				kubectlutil.CheckErr(err)
			}
			return 0
		},
	}
}

// server runs the command that newCommand builds. Only the selected command is built, because building one registers its metrics
// and flags.
func server(newCommand func() *cobra.Command) func([]string) int {
	return func(args []string) int {
		os.Args = args
		cmd := newCommand()
		cmd.SetArgs(args[1:])
		return cli.Run(cmd)
	}
}
